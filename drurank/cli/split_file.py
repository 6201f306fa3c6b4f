"""What split does: a table read, split by either method and written, and what the manifest says of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from drurank.cli.split_checks import refuse_columns, refuse_lost_label, refuse_output, twins_of
from drurank.errors import InputError, check_count
from drurank.files import write_json
from drurank.splits import SPLITS, SplitColumn
from drurank.tabular.clustering import ClusterOptions, label_distance, split_by_cluster
from drurank.tabular.coding import code_groups
from drurank.tabular.dropping import kept_rows, texts_of
from drurank.tabular.feature import MOST_CATEGORIES
from drurank.tabular.gathering import gather_rows
from drurank.tabular.indices import index_columns, split_columns
from drurank.tabular.joining import with_twins_joined
from drurank.tabular.renaming import checked_labels, with_names
from drurank.tabular.rules.leaks import determines_label
from drurank.tabular.several import Source, check_head
from drurank.tabular.spellings import as_commonest, twins
from drurank.tabular.splitting import LEFT_OUT, SplitOptions, split_by_group, summarise
from drurank.tabular.suggesting import remedies, said_dates
from drurank.tabular.writing import write_table
from drurank.words import as_names

NAMED = 10_000
"""Most groups that are named as left out; of Yelp's writers there are two million."""


@dataclass(frozen=True)
class TextOptions(ClusterOptions):
    """How writers are clustered, by embeddings of their texts: the method ``cluster``.

    Args:
        text: column of the text, or several (with commas), which are joined with a line end between.
        pretrained: encoder whose mean over a text's tokens is its embedding; a folder, or its name on the hub.
        max_length: tokens after which a text is cut.
        cache_dir: folder where embeddings are kept, if not the usual one.

    Raises:
        InputError: if no text is named, or ``max_length`` is not a number of tokens.
    """

    text: str | list[str] | None = None
    pretrained: str = "distilbert-base-uncased"
    max_length: int = 512
    cache_dir: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(as_names(self.text)):
            raise InputError("text is missing; name the column of the text, as --text review")
        check_count("max_length", self.max_length, ", as 512", least=2)


def split_file(
    path: str,
    label: str,
    group: str | list[str],
    output: str,
    split: str = "split",
    overwrite: bool = False,
    drop_missing: bool = False,
    delimiter: str | None = None,
    text_encoding: str | None = None,
    relabel: dict[str, str] | None = None,
    regroup: dict[str, str] | None = None,
    join_twins: bool = False,
    options: SplitOptions | TextOptions | None = None,
) -> dict[str, Any]:
    """Write a table again with a column for the split of each row, and beside it ``<output>.manifest.json``.

    Args:
        path: the table; several files with the same columns by commas or a pattern, as 'part-*.json', are one table, in
            the order of their names.
        label: its column of the label.
        group: its column of the group, or several (with commas), whose combinations are the groups.
        output: file to write; .csv, .tsv, .parquet or .pq. All columns and the order of rows stay as they are
            (an index that pandas wrote without a name is not a column).
        split: name of the new column; its values are train, id_val, ood_val, id_test and ood_test.
        overwrite: whether an output and a manifest that exist are replaced.
        drop_missing: whether rows without a label, a group or a text are left out, and counted in the manifest; else
            they are refused.
        delimiter: what cuts the cells of a CSV or TSV file, if not what its name says.
        text_encoding: encoding of a text file, if not UTF-8. The output is in UTF-8.
        relabel: labels that stand for others; they stay as written in the output, and a fit needs the same option.
        regroup: the same of groups, in each column of the group.
        join_twins: whether groups whose names differ only by case, blanks, Unicode form or zeros of a number are one;
            they stay as written in the output, and the commands that are printed have the option.
        options: how groups and rows are shared out, which says the method; the defaults of ``SplitOptions``, if not
            given.

    Returns:
        The manifest.

    Raises:
        InputError: if the table cannot be split so, or the output not be written.
    """
    options, target = options or SplitOptions(), Path(os.path.expanduser(output))
    text = as_names(options.text) if isinstance(options, TextOptions) else []
    manifest_file = target.with_name(f"{target.stem}.manifest.json")
    refuse_output(path, target, manifest_file, overwrite)
    group_columns = as_names(group)
    check = partial(refuse_columns, path, wanted=[label, *group_columns, *text], split=split)
    check_head(path, check, delimiter=delimiter, text_encoding=text_encoding)
    source = Source.read(path, delimiter=delimiter, text_encoding=text_encoding)
    check(source.table)
    relabel, regroup = checked_labels(relabel), checked_labels(regroup, "regroup")
    source, whole = replace(source, table=with_names(source, label, group_columns, relabel, regroup)), source
    labels = [source.column(label)]
    groups = [source.column(name) for name in group_columns]
    kept, dropped = kept_rows(source, labels[0], groups, text, drop=drop_missing)
    label_code, label_names = code_groups(labels, kept)
    group_code, group_names = code_groups(groups, kept)
    if join_twins:
        group_code, group_names = with_twins_joined(group_code, group_names)
    rows = _at(whole.table, kept)
    # The label's codes are not compared in clusters of texts, and the groups' are wherever copies are looked for.
    aside = [*group_columns, *index_columns(rows, {label, *group_columns, *text}), *split_columns(rows)]
    facts: dict[str, Any] = {}
    if isinstance(options, TextOptions):
        embed = partial(_embeddings, source, kept, options)
        code, facts = split_by_cluster(rows, group_code, group_names, embed, options, aside=aside, source=path)
    else:
        code = split_by_group(rows, label_code, group_code, group_names, options, aside=[label, *aside], source=path)
    refuse_lost_label(path, code, label_code, label_names)
    held = summarise(code, label_code, group_code, label_names)
    manifest = {
        "source": _source(source),
        "output": target.name,
        "columns": {"label": label, "group": group_columns, "split": split, **({"text": text} if text else {})},
        "method": "cluster" if text else "group",
        "options": _recorded(options),
        "splits": {name: asdict(summary) for name, summary in held.items()},
        "left_out": _left_out(code, group_code, group_names),
        "padded": {column.name: column.padded for column in [*labels, *groups] if column.is_text and column.padded},
        "renames": {"relabel": relabel, "regroup": regroup, "join_twins": join_twins},
        "twins": twins_of(code, group_code, group_names, options.min_count),
        "label_twins": as_commonest(labels[0], twins(labels[0].texts)),
        "dropped": None if dropped is None else {"rows": source.table.num_rows - len(kept), "blank": dropped},
        **facts,
    }
    _add_label_distances(manifest)
    _write(rows, code, split, target, manifest_file, manifest)
    return manifest


def options_of_output(manifest: Mapping[str, Any], output: Path) -> tuple[dict[str, str | list[str]], list[str]]:
    """Options with which ``Table`` can be trained on what was written, and what they take dates for; none for texts."""
    if manifest["method"] == "cluster":
        return {}, []
    columns, path = manifest["columns"], str(output)
    names = {"label": columns["label"], "group": columns["group"], "split": columns["split"]}
    table = Source.read(path, split=SplitColumn(columns["split"])).table
    rows = gather_rows(path, table, **names, most_categories=MOST_CATEGORIES)
    options = remedies(rows, [*determines_label(rows)])
    return options, said_dates(rows, options)


def _embeddings(source: Source, kept: np.ndarray, options: TextOptions, places: np.ndarray) -> np.ndarray:
    """Embeddings of those of the rows that are kept at these places, which ascend, float32 ``[k, d]``."""
    from drurank.text.features import embed_texts

    texts = texts_of(source, as_names(options.text))
    some = np.zeros(len(texts), dtype=bool)
    some[kept[places]] = True
    return embed_texts(
        texts.filter(pa.array(some)),
        options.pretrained,
        source=source.path,
        pooling="mean",
        max_length=options.max_length,
        cache_dir=options.cache_dir,
    )


def _at(table: pa.Table, places: np.ndarray) -> pa.Table:
    """The rows at these places, which ascend; a filter, since taking fails where text is above 2 GiB."""
    some = np.zeros(table.num_rows, dtype=bool)
    some[places] = True
    return table if some.all() else table.filter(pa.array(some))


def _source(source: Source) -> dict[str, Any]:
    said = {"name": Path(source.path).name, "rows": source.table.num_rows, "sha256": source.fingerprint()}
    files = source.files
    if len(files.names) > 1:
        counts = np.diff([*files.starts, source.table.num_rows])
        said["files"] = {Path(file).name: int(count) for file, count in zip(files.names, counts, strict=True)}
    return said


def _recorded(options: SplitOptions | TextOptions) -> dict[str, Any]:
    """What changes the split; the columns of text stand among the others."""
    if not isinstance(options, TextOptions):
        return asdict(options)
    told = {name: value for name, value in asdict(options).items() if name not in ("text", "cache_dir")}
    return told | {"id_min_count": options.least_of_id}


def _left_out(code: np.ndarray, group: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Rows and groups that are left out, the largest of them by name."""
    count = np.bincount(group[code == LEFT_OUT], minlength=len(names))
    largest = np.sort(np.argsort(-count, kind="stable")[: min(NAMED, np.count_nonzero(count))])
    return {
        "rows": int(count.sum()),
        "groups": int((count > 0).sum()),
        "group_rows": {names[number]: int(count[number]) for number in largest.tolist()},
    }


def _add_label_distances(manifest: Mapping[str, Any]) -> None:
    splits = manifest["splits"]
    for name, distances in manifest.get("distances", {}).items():
        distances["labels"] = label_distance(splits[name]["label_shares"], splits["train"]["label_shares"])


def _write(
    table: pa.Table, code: np.ndarray, split: str, target: Path, manifest_file: Path, manifest: Mapping[str, Any]
) -> None:
    kept = code != LEFT_OUT
    rows = table if kept.all() else table.filter(pa.array(kept))
    new = pa.DictionaryArray.from_arrays(pa.array(code[kept], pa.int8()), list(SPLITS)).cast(pa.string())
    write_table(rows.append_column(split, new), target)
    write_json(manifest_file, manifest)
