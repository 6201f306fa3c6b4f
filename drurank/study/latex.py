"""Tables in LaTeX, with the rules of booktabs and a caption."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drurank.terminal import visible

SPECIAL = {
    # Behind the end of a line LaTeX takes these for an option of it; two dashes are drawn as one.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "--": "-{}-",
    "|": r"\textbar{}",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "±": r"$\pm$",
    "²": "$^2$",
    **{letter: f"\\{letter}" for letter in "_%&#${}"},
}


def latex_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, remarks: Sequence[str] = ()) -> str:
    """A table whose first column is text and whose others are numbers.

    Args:
        head: of the columns, as LaTeX.
        rows: cells by row, as LaTeX.
        caption: plain text.
        remarks: sentences that follow it, as comments.
    """
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{tex(caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
        *(" & ".join(cells) + r" \\" for cells in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        *(f"% {visible(' '.join(remark.split()))}" for remark in remarks),
    ]
    return "\n".join(lines) + "\n"


def tex(text: str) -> str:
    """Plain text as LaTeX, on one line."""
    found = re.compile("|".join(map(re.escape, SPECIAL)))
    return found.sub(lambda match: SPECIAL[match[0]], visible(" ".join(text.split())))
