"""study concordance: how well criteria choose among finished candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, fields

from rich.table import Table

from drurank.markdown import markdown, markdown_table
from drurank.study.choosing import Checkpoints, CriterionConcordance, criteria_concordance, standing_for
from drurank.study.concordance import Concordance
from drurank.study.finished import Study
from drurank.study.latex import latex_table, tex
from drurank.study.tables import Format
from drurank.terminal import Terminal, say
from drurank.words import as_names

HOW_TO_READ = (
    "Distance (0 is best) and cosine (1) of the ranks, NDCG (1), Kendall's tau (1), share of pairs of candidates that "
    "the criterion ties, share of candidates that it ties with another, and accuracy of the worst group that is lost "
    "by trusting it (0); in brackets 5 to 95 % over candidates and groups. Ties have no interval, since redrawing "
    "groups breaks them."
)


def show_concordance(
    folder: str,
    checkpoints: Checkpoints = "same",
    by: str | None = None,
    on: str | None = None,
    criteria: str | None = None,
    against: str | None = None,
    format: Format | None = None,
    repeat: int | None = None,
) -> list[CriterionConcordance]:
    """How well each criterion on validation orders the candidates by the accuracy of the worst group on test.

    Args:
        folder: of a study.
        checkpoints: same, as in the paper: every criterion orders the same models, of each candidate the checkpoint
            that is best by one criterion; own: each criterion orders its own best checkpoints.
        by: that one criterion; qdcg10 (the first of the study, if it kept none by that), if not given.
        on: split of the worst group; that of groups never seen in training, if not given.
        criteria: those to compare, with commas, with same any; all that kept checkpoints, if not given.
        against: show the others as differences from this criterion.
        format: markdown, latex or csv; a table for the terminal, if not given.
        repeat: the split of the data whose candidates are ordered, in a study with several.

    Returns:
        One entry a criterion.

    Raises:
        InputError: if there are too few candidates, or they cannot be compared.
    """
    names = None if criteria is None else as_names(criteria)
    study = Study.load(folder).of_repeat(repeat)
    found = criteria_concordance(study, names, checkpoints=checkpoints, by=by, on=on, against=against)
    caption = f"{models_ordered(study, checkpoints, by, on)} {HOW_TO_READ}"
    title = f"How well criteria choose{'' if against is None else f', less the figures of {against}'}"
    if format is not None:
        say(concordance_text(found, format, title, [caption, *study.caveats()]), end="")
        return found
    table = Table(title=title, caption=caption, caption_justify="left")
    table.add_column("criterion")
    for field in fields(Concordance):
        table.add_column(field.name, justify="right")
    for choice in found:
        table.add_row(choice.criterion, *_figures(choice, "\n"))
    Terminal().print(table)
    for sentence in study.caveats():
        say(sentence)
    return found


def concordance_text(
    found: Sequence[CriterionConcordance], format: Format, title: str, remarks: Sequence[str] = ()
) -> str:
    """How well criteria choose, as text.

    Args:
        found: one entry a criterion.
        format: of the text; CSV has a line a figure.
        title: what the table shows.
        remarks: sentences under it.
    """
    head = ["criterion", *(field.name for field in fields(Concordance))]
    rows = [[choice.criterion, *_figures(choice, " ")] for choice in found]
    if format == "latex":
        as_tex = [[tex(cell) for cell in row] for row in rows]
        return latex_table(
            [tex(name) for name in head], as_tex, f"{title}. {remarks[0] if remarks else ''}", remarks[1:]
        )
    if format == "csv":
        lines = ["criterion,figure,value,low,high"]
        for choice in found:
            value, low, high = (asdict(figures) for figures in (choice.value, choice.low, choice.high))
            for key in value:
                numbers = ("" if math.isnan(one[key]) else repr(one[key]) for one in (value, low, high))
                lines.append(",".join([choice.criterion, key, *numbers]))
        return "\n".join(lines) + "\n"
    as_markdown = [list(map(markdown, row)) for row in rows]
    return markdown_table(list(map(markdown, head)), as_markdown, title, remarks)


def models_ordered(study: Study, checkpoints: Checkpoints, by: str | None, on: str | None) -> str:
    """Which models are put in order."""
    which = f"{len(study.results)} candidates, by the worst group of {study.split(on)}"
    if checkpoints == "own":
        return f"{which}. Each criterion orders its own best checkpoints."
    best = standing_for(study, by)
    return f"{which}. Every criterion orders the same models: of each candidate the best checkpoint by {best}."


def _figures(choice: CriterionConcordance, between: str) -> list[str]:
    """Each figure with its interval, if it has one; "none" where a criterion ties all candidates and has no order."""
    value, low, high = (asdict(figures) for figures in (choice.value, choice.low, choice.high))
    return [_figure(value[key] + 0.0, low[key], high[key], between) for key in value]


def _figure(value: float, low: float, high: float, between: str) -> str:
    if not math.isfinite(value):
        return "none"
    return f"{value:.2f}{between}({low:.2f} to {high:.2f})" if math.isfinite(low) else f"{value:.2f}"
