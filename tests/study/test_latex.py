"""Tables in LaTeX."""

import re

import pytest

from drurank.cli import main
from drurank.study.latex import latex_table, tex


def test_marks_of_latex_are_text():
    assert tex("a_b 5% <x> {y} ~ ^2 \\z\n±") == (
        r"a\_b 5\% $<$x$>$ \{y\} \textasciitilde{} \textasciicircum{}2 \textbackslash{}z $\pm$"
    )


def test_a_table_has_the_rules_of_booktabs_and_a_caption():
    lines = latex_table(["a", "b"], [["x", "1"], ["y", "2"]], "What it_is.", ["more"]).splitlines()
    kept = [line for line in lines if not line.startswith("%")]
    assert kept[3:9] == [r"\begin{tabular}{lr}", r"\toprule", r"a & b \\", r"\midrule", r"x & 1 \\", r"y & 2 \\"]
    assert kept[2] == r"\caption{What it\_is.}"
    assert kept[9:] == [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    assert lines[-1] == "% more"


@pytest.mark.parametrize("command", [["table"], ["concordance"]])
def test_both_tables_of_a_study_are_written_so(results, command, capsys):
    main(["study", *command, "--folder", str(results), "--format", "latex"])
    said = capsys.readouterr().out
    for word in (r"\toprule", r"\midrule", r"\bottomrule", r"\caption{"):
        assert said.count(word) == 1
    rows = [line for line in said.splitlines() if line.endswith(r"\\")]
    assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
