"""How a table of methods is written."""

import json
import re
import shutil

import pytest

from drurank.cli import main
from drurank.study import Study, study_table
from runs import read_json


def test_names_with_marks_of_markdown_and_latex_break_no_table(results, tmp_path):
    shutil.copytree(results, tmp_path / "study")
    for file in tmp_path.glob("study/candidates/*/manifest.json"):
        manifest = read_json(file)
        content = {**manifest, "setting": f"{manifest['setting']} a|b\nc", "method": manifest["method"] + "_5%&#"}
        file.write_text(json.dumps(content), encoding="utf-8")
    table = study_table(Study.load(tmp_path / "study"), "qdcg10")
    rows = [line for line in table.render("markdown").splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 3
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
    assert r"Const+M\_5\%\&\#" in table.render("latex")
    assert str(table) == table.render("markdown")


def test_the_layout_of_splits_holds_the_table_of_each(results, capsys):
    study = Study.load(results)
    both = study_table(study, "qdcg10", on=["ood_val", "ood_test"], cells=["average", "worst"])
    for split in ("ood_val", "ood_test"):
        one = study_table(study, "qdcg10", on=split, cells=["average", "worst"])
        for row, same in zip(one.rows, both.rows, strict=True):
            for name in ("average", "worst"):
                assert row.cells[split, name] == same.cells[split, name]
    words = ["study", "table", "--folder", str(results), "--layout", "splits", "--cells", "average,worst"]
    main([*words, "--format", "markdown"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| method | ood_val | ood_test | chosen |"
    number = r"(?:\*\*|<u>)?[\d.]+ ± [\d.]+(?:\*\*|</u>)?"
    assert re.match(rf"\| Const\+M \| {number} / {number} \| {number} / {number} \| ", lines[4])
    main([*words, "--on", "ood_test,ood_val", "--format", "csv"])
    head = capsys.readouterr().out.splitlines()[0]
    assert head.split(",")[4:] == ["ood_test average", "ood_test worst", "ood_val average", "ood_val worst"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", "p25"], "has no checkpoint by 'p25'"),
        (["--on", "ood"], "has no groups of split 'ood'"),
        (["--cells", "wrost"], "wrost"),
        (["--format", "html"], "html"),
        (["--on", "ood_val,ood_test"], "give one split, or --layout splits"),
        (["--test", "z"], "z"),
    ],
)
def test_a_table_that_cannot_be(results, words, said, capsys):
    with pytest.raises(SystemExit):
        main(["study", "table", "--folder", str(results), *words])
    assert said in capsys.readouterr().err
