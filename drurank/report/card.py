"""The report as a section of a model card: Markdown with a head that the Hugging Face hub reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from drurank.figures import ACCURACY
from drurank.files import replace_file
from drurank.markdown import markdown, markdown_table
from drurank.report.counts import ALL, SplitCounts
from drurank.report.remarks import remarks, remarks_on_groups
from drurank.report.served import Served
from drurank.report.shown import FROM_TO, criteria_rows, group_rows
from drurank.report.worst import on_worst
from drurank.run_folder.layout import CARD_FILE, GROUPS_CSV
from drurank.terminal import visible
from drurank.words import capital, counted

WORST_SHOWN, BEST_SHOWN = 40, 20
CRITERIA = ["criterion", "split", "better if", "observed", "true, estimated", "by chance alone"]
HUB_NAMES = {"overall": "accuracy"}
"""What the hub calls criteria of the accuracy that it knows too."""


def write_card(
    folder: Path,
    report: Mapping[str, Any],
    splits: Sequence[SplitCounts],
    figures: Mapping[str, Sequence[Served]] | None = None,
) -> Path:
    """Write ``model_card.md``.

    Args:
        folder: where to.
        report: the content of ``report.json``.
        splits: counts by split.
        figures: further figure to each split.

    Returns:
        The file.
    """
    head = yaml.safe_dump(model_index(report), sort_keys=False, allow_unicode=True)
    parts = [(report, splits), *((report["figures"][name], counts) for name, counts in (figures or {}).items())]
    lines = ["---", head + "---", "", "## How groups are served", ""]
    for content, counts in parts:
        lines += _of_figure(content, counts)
    file = folder / CARD_FILE
    replace_file(file, lambda beside: beside.write_text("\n".join(lines), encoding="utf-8"))
    return file


def model_index(report: Mapping[str, Any]) -> dict[str, Any]:
    """The head: a result for each split, as the hub's ``model-index`` has them.

    Args:
        report: the content of ``report.json``.
    """
    source = visible(str(report.get("data") or report.get("predictions") or report.get("counts")))
    kinds = {"texts": "text-classification", "pictures": "image-classification", "method": "tabular-classification"}
    task = next((task for key, task in kinds.items() if key in report), "other")
    results = [
        {
            "task": {"type": task, "name": "Classification, by group"},
            "dataset": {"type": source, "name": source, **({} if split == ALL else {"split": visible(split)})},
            "metrics": [*_metrics(report, split)],
        }
        for split in report["splits"]
    ]
    name = report.get("method") or Path(source).stem
    return {"model-index": [{"name": visible(str(name)), "results": results}]}


def _metrics(report: Mapping[str, Any], split: str) -> Iterator[dict[str, Any]]:
    for figure, content in {"accuracy": report, **report.get("figures", {})}.items():
        of_split = content["splits"].get(split, {"criteria": {}})  # a figure may be about no row of a split
        for name, entry in of_split["criteria"].items():
            if entry["value"] is None:
                continue
            known = HUB_NAMES.get(name) if content is report else None
            kind = known or (name if content is report else f"{name}_{figure}")
            yield {"type": kind, "value": entry["value"], "name": f"{figure} by group: {name}"}


def _of_figure(content: Mapping[str, Any], splits: Sequence[Served]) -> list[str]:
    """The sentences, the criteria and the groups of one figure."""
    figure = splits[0].figure
    lines = [] if figure is ACCURACY else [f"### {markdown(capital(figure.heading))}", ""]
    for split in splits:
        lines += [markdown(on_worst(split, content["splits"][split.split])), ""]
    rows = [[markdown(cell) for cell in row] for row in criteria_rows(content["splits"])]
    lines.append(markdown_table(CRITERIA, rows, "Criteria", remarks(content["splits"])))
    for split in splits:
        lines.append(_groups(split, explains=split is splits[0]))
    return lines


def _groups(split: Served, *, explains: bool) -> str:
    headings, rows = group_rows(split)
    said = [FROM_TO, *remarks_on_groups(split, explains=explains)]
    if len(rows) > WORST_SHOWN + BEST_SHOWN:
        said.insert(0, f"Of {counted(len(rows), 'group')} the worst {WORST_SHOWN} and the last {BEST_SHOWN} are shown.")
        rows = [*rows[:WORST_SHOWN], *rows[-BEST_SHOWN:]]
        said[0] += f" All are in {GROUPS_CSV if split.figure is ACCURACY else f'groups_{split.figure.name}.csv'}."
    where = "" if split.split == ALL else f" in {split.split}"
    table = [[markdown(cell) for cell in row] for row in rows]
    return markdown_table([markdown(name) for name in headings], table, f"Groups{where}, the worst first", said)
