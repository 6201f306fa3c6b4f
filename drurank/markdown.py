"""Plain text as Markdown, and blocks of code that their content cannot end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drurank.terminal import visible

SPECIAL = re.compile(
    r"[\\`*\[\]<>|~$!]"  # wherever they stand
    r"|(?<![^\W_])_|_(?![^\W_])"  # within a word they are letters
    r"|&(?=#?\w+;)|:(?=[\w+-]+:)|^[#+=-](?=\s|$)|(?<=^\d)[.)](?=\s|$)"
)


def markdown(text: str) -> str:
    r"""Plain text as Markdown (GitHub's too), on one line.

    >>> markdown("a_b <i>*x*</i>"), markdown("_a | b_")
    ('a_b \\<i\\>\\*x\\*\\</i\\>', '\\_a \\| b\\_')
    """
    return SPECIAL.sub(lambda found: f"\\{found[0]}", visible(" ".join(text.split())))


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str, remarks: Sequence[str] = ()) -> str:
    """A table under its title.

    Args:
        head: of the columns, as Markdown.
        rows: cells by row, as Markdown.
        title: plain text.
        remarks: sentences that follow it, plain text.
    """
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    lines.insert(1, f"|{'---|' * len(head)}")
    said = [f"- {markdown(sentence)}" for sentence in remarks]
    return "\n".join([f"{markdown(title)}:", "", *lines, "", *said]) + "\n"


def code(lines: list[str]) -> list[str]:
    """Lines as a block of code, in a fence that none of them holds."""
    ticks = max((len(run) for run in re.findall("`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, ticks + 1)
    return [fence, *map(visible, lines), fence]
