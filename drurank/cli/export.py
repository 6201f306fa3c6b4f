"""export: a trained network as a file for other programs, once it is known to predict the same."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from drurank.cli.flags import named_as_flags
from drurank.cli.parser import SentenceParser
from drurank.cli.program import usage
from drurank.cli.restored import Restored, restore
from drurank.errors import InputError
from drurank.export.checking import LIMIT, Sample, largest_difference, sample_of
from drurank.export.classifier import FEWEST, Classifier, inputs_of, random_inputs
from drurank.export.encoding import encoding_of
from drurank.export.formats import FILES, To, check_packages, prepare, read
from drurank.export.plain import json_text
from drurank.export.readme import readme
from drurank.export.sizes import check_sizes, labels_of
from drurank.files import missing_folders, refuse_existing, remove_empty, replace_files
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
    check_sizes(restored.file, sizes, restored.data)
    labels = labels_of(restored.file, sizes, restored.data, restored.method)
    content = encoding_of(restored.data, restored.method, labels, inputs_of(sizes))
    texts = json_text(content, str(restored.file)), readme(to, restored.file, content)
    # Of a checkpoint alone nothing says where its data lies.
    sample = sample_of(None if restored.folder is None else restored.data, restored.method, sizes)
    missing = missing_folders(folder)
    try:
        said = _write_checked(to, files, restored, random_inputs(sizes, FEWEST), sample, texts)
    except BaseException:
        remove_empty(missing)
        raise
    say(f"{files[0]}: {said} ({sample.said}); {ENCODING} and {README} say how to use it")
    return files[0]


def _write_checked(
    to: To,
    files: list[Path],
    restored: Restored,
    example: tuple[Tensor, ...],
    sample: Sample,
    texts: tuple[str, str],
) -> str:
    """Write the network and what lies beside it, all or nothing; a sentence on what was compared."""
    model, inputs = Classifier(restored.method, sample.inputs), sample.inputs
    write, (encoding, page) = prepare(to, model, inputs, example), texts
    said: list[str] = []

    def write_and_compare(beside: Path) -> None:
        write(beside)
        worst = largest_difference(restored.method, read(to, model, beside), sample)
        if not worst <= LIMIT:
            raise InputError(
                f"{files[0]} is not written: on {sample.said} its probabilities differ from the checkpoint's by "
                f"{worst:.1e}, and by {LIMIT:.0e} at most they may; give another format"
            )
        said.append(f"the probabilities of {sample.rows:,} rows differ from the checkpoint's by {worst:.1e} at most")

    def write_page(beside: Path) -> None:
        beside.write_text(f"{page}\nOn {sample.kind}, {said[0]}.\n", encoding="utf-8")

    def write_encoding(beside: Path) -> None:
        beside.write_text(encoding, encoding="utf-8")

    replace_files(dict(zip(files, (write_and_compare, write_encoding, write_page), strict=True)))
    return said[0]


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
