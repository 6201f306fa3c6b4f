"""export: a trained network as a file for other programs, once it is known to predict the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from drurank.cli.flags import named_as_flags
from drurank.cli.parser import SentenceParser
from drurank.cli.program import usage
from drurank.cli.restored import Restored, restore
from drurank.data import GroupDataModule
from drurank.errors import InputError
from drurank.export.checking import LIMIT, Sample, largest_difference, sample_of
from drurank.export.classifier import Classifier, random_inputs
from drurank.export.encoding import encoding_of
from drurank.export.formats import FILES, To, check_packages, read, write
from drurank.export.readme import readme
from drurank.files import missing_folders, refuse_existing, remove_empty, replace_file, write_json
from drurank.networks import Sizes
from drurank.run_folder.links import refuse_links
from drurank.terminal import say

ENCODING, README = "encoding.json", "README.md"
FOLDER = "export"
"""Folder beside the checkpoints, in which each format has its own."""


def run(words: list[str]) -> Path:
    """Write the network that the words name, and say what was compared; the file of it."""
    parser = SentenceParser(prog=usage("export"), description=(export_model.__doc__ or "").splitlines()[0])
    parser.add_function_arguments(export_model)
    parser.let_stand_alone("overwrite")
    settings = vars(parser.parse_args(words))
    with named_as_flags(parser.all_options):
        return export_model(**settings)


def export_model(
    to: To,
    run: str | None = None,
    ckpt_path: str | None = None,
    criterion: str | None = None,
    output: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a trained network for other programs, with the encoding of its inputs beside it.

    The folder has the network, ``encoding.json``, which says how columns become its inputs, and ``README.md``. It is
    read again and compared with the checkpoint on up to 1,000 rows of the run's data; what differs is not kept.

    Args:
        to: ``onnx``: ``model.onnx``, from encoded inputs to probabilities; ``torch``: ``model.pt2`` of torch.export,
            the same; ``safetensors``: the weights alone, ``model.safetensors``.
        run: folder of a run that `fit` made.
        ckpt_path: a checkpoint, in place of a run.
        criterion: by which criterion of the run's selection its checkpoint is taken; the first, if not given.
        output: folder to write into; ``<run>/export/<format>``, if not given.
        overwrite: replace files that exist there.

    Returns:
        The file of the network.

    Raises:
        InputError: if there is no such run, its network cannot be written, or the file gives other probabilities.
    """
    if bool(run) == bool(ckpt_path):
        raise InputError(
            "export needs trained weights; give either run='runs/version_0', the folder of a run that `fit` made, or "
            "ckpt_path='last.ckpt'"
        )
    check_packages(to)
    given = Path(run or ckpt_path or "").expanduser()
    if output is None:
        _refuse_links_out(_folder_of(given) / FOLDER)
    folder = Path(output).expanduser() if output else _folder_of(given) / FOLDER / to
    files = [folder / name for name in (FILES[to], ENCODING, README)]
    refuse_existing(files, overwrite=overwrite, inputs=[str(given)])
    restored = restore(given, criterion)
    sizes = _sizes_of(restored)
    sample = sample_of(restored.data, restored.method, sizes)
    missing = missing_folders(folder)
    try:
        worst = _write_checked(to, files[0], restored, random_inputs(sizes, 3), sample)
    except BaseException:
        remove_empty(missing)
        raise
    labels = _labels_of(restored, sizes)
    content = encoding_of(restored.data, restored.method, labels, sample.inputs)
    write_json(files[1], content)
    said = f"the probabilities of {sample.rows:,} rows differ from the checkpoint's by {worst:.1e} at most"
    text = readme(to, restored.file, content, f"On {sample.said}, {said}.")
    replace_file(files[2], lambda beside: beside.write_text(text, encoding="utf-8"))
    say(f"{files[0]}: {said} ({sample.said}); {ENCODING} and {README} say how to use it")
    return files[0]


def _write_checked(to: To, file: Path, restored: Restored, example: tuple[Tensor, ...], sample: Sample) -> float:
    model, inputs = Classifier(restored.method, sample.inputs), sample.inputs
    found: list[float] = []

    def write_and_compare(beside: Path) -> None:
        write(to, model, inputs, example, beside)
        found.append(largest_difference(restored.method, read(to, model, beside), sample))
        if not found[0] <= LIMIT:
            raise InputError(
                f"{file} is not written: on {sample.said} its probabilities differ from the checkpoint's by "
                f"{found[0]:.1e}, and by {LIMIT:.0e} at most they may; give another format"
            )

    replace_file(file, write_and_compare)
    return found[0]


def _refuse_links_out(place: Path) -> None:
    """Refuse to write where a link leads that lies beside somebody's checkpoint; an output that is typed may be one.

    Raises:
        InputError: naming the link.
    """
    if place.is_symlink():
        raise InputError(f"{place} is a link, and what is exported would be written where it leads; give output=...")
    refuse_links(place)


def _folder_of(given: Path) -> Path:
    return given if given.is_dir() else given.parent.parent if given.parent.name == "checkpoints" else given.parent


def _sizes_of(restored: Restored) -> Sizes:
    sizes = restored.method.builder.sizes or getattr(restored.data, "sizes", None)
    if sizes is None:
        raise InputError(
            f"{restored.file} does not say what its network takes: give the data module a property sizes that returns "
            "drurank.networks.Sizes"
        )
    return sizes


def _labels_of(restored: Restored, sizes: Sizes) -> list[str]:
    data: Any = restored.data
    names = list(data.label_names) if isinstance(data, GroupDataModule) else []
    return [*names, *map(str, range(len(names), sizes.num_classes))][: sizes.num_classes]
