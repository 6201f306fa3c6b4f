import re
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import drurank.criteria
import drurank.current_folder
import drurank.imports
import forgetting
from drurank.cli import main
from drurank.criteria import compute_criteria, criterion, default_criteria
from drurank.errors import InputError
from drurank.imports import PREFIX, import_code, import_words
from drurank.report import report_predictions
from drurank.study import Study, study_table
from runs import SMALL, read_csv, read_json
from studies import SMALL as STUDY
from studies import written
from warm import ended

ROOT = Path(__file__).parents[1]
BELOW80, PAGE = str(ROOT / "examples/below80.py"), ROOT / "docs/criteria.md"
PREDICTIONS = "group,label,prediction,split\n" + "".join(
    f"{group},{i % 2},{i % 2 if i < right else 1 - i % 2},{split}\n"
    for group, right, split in (("a", 7, "ood_test"), ("b", 8, "ood_test"), ("c", 9, "id_test"), ("d", 9, "id_test"))
    for i in range(10)
)


@pytest.fixture(autouse=True)
def own(monkeypatch):
    """What is registered and imported is forgotten after each test."""
    monkeypatch.setattr(drurank.criteria, "_registry", dict(drurank.criteria._registry))
    monkeypatch.setattr(drurank.imports, "_imported", [])


@pytest.fixture
def fresh(monkeypatch):
    """As in another process: nothing is registered or imported."""
    begun = dict(drurank.criteria._registry)

    def forget():
        monkeypatch.setattr(drurank.criteria, "_registry", dict(begun))
        monkeypatch.setattr(drurank.imports, "_imported", [])
        for name in [name for name in sys.modules if name.startswith(PREFIX)]:
            del sys.modules[name]

    return forget


def below80(file, split):
    rows = [row for row in read_csv(file) if row["split"] == split]
    return np.mean([float(row["accuracy"]) < 0.8 for row in rows])


def test_example_is_under_twenty_lines_and_stands_in_the_docs():
    text = Path(BELOW80).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 20
    assert text.split("\n", 2)[2] in PAGE.read_text(encoding="utf-8")


def test_family_of_the_docs_has_its_criteria():
    exec("\n".join(re.findall(r"```python.*?\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)), {})
    assert default_criteria()[-2:] == ("below80", "under80")
    found = compute_criteria(np.array([4, 6, 10]), np.array([10, 10, 10]), ["under50", "under80", "under99"])
    assert [float(value) for value in found.values()] == [1 / 3, 2 / 3, 2 / 3]


def test_criterion_of_ones_own_chooses_checkpoints_and_stands_in_reports(run, tmp_path):
    words = ["--model", "DRU", "--trainer.max_epochs", "3", "--trainer.default_root_dir", tmp_path]
    run("fit", "--import", BELOW80, *SMALL, *words, "--select", "below80,qdcg10")
    folder = tmp_path / "version_0"
    logged = [float(row["val_below80"]) for row in read_csv(folder / "metrics.csv") if "val_below80" in row]
    chosen = read_json(folder / "selection.json")["below80"]
    assert len(logged) == 3
    assert (chosen["value"], chosen["epoch"]) == (min(logged), logged.index(min(logged)))
    assert (folder / "checkpoints/below80.ckpt").is_file()
    run("test", f"--import={BELOW80}", "--run", folder)
    tested = read_json(folder / "test/below80/report.json")["splits"]["ood_test"]["criteria"]["below80"]
    assert tested["value"] == pytest.approx(below80(folder / "test/below80/groups.csv", "ood_test"))
    assert tested["better"] == "min"


def test_criterion_of_ones_own_is_reported_of_any_predictions():
    Path("p.csv").write_text(PREDICTIONS, encoding="utf-8")
    main(["--import", BELOW80, "report", "--predictions", "p.csv", "--split", "split", "--criteria", "below80,worst"])
    report = read_json("p_report/report.json")
    found = {split: content["criteria"]["below80"]["value"] for split, content in report["splits"].items()}
    assert found == {"ood_test": 0.5, "id_test": 0}
    assert report["drop"]["criteria"]["below80"]["value"] == 0.5
    assert report_predictions("p.csv", split="split", criteria="below80,worst", overwrite=True) == report


def test_study_hands_the_criterion_on_to_its_workers(tmp_path, capsys):
    file = written(
        tmp_path / "s.yaml",
        candidates=[{"model": "ERM"}],
        seeds=[0],
        criteria=["below80"],
        trainer={**STUDY["trainer"], "max_epochs": 1},
    )
    words = ["study", "run", "--import", BELOW80, "--config", file, "--output", "study"]
    assert ended([forgetting.__file__, *words], tmp_path / "log") == (0, mock.ANY)
    main(["study", "table", "--import", BELOW80, "--folder", "study", "--by", "below80", "--cells", "below80,worst"])
    assert "below80" in capsys.readouterr().out
    study = Study.load("study")
    (result,) = study
    counts = result.counts("below80", "ood_test")
    share = np.mean(counts.correct / counts.count < 0.8)
    table = study_table(study, "below80", cells=["below80"])
    assert table.rows[0].cells["ood_test", "below80"].values == (pytest.approx(share),)
    assert f"| {100 * share:.1f} |" in table.render("markdown")


def test_code_that_is_not_named_is_not_imported(refused):
    assert "there is no criterion 'below80'" in refused("fit", *SMALL, "--model", "ERM", "--select", "below80")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--import", "nope.py"], "there is no file nope.py"),
        (["--import", "no.such.module"], "no.such.module cannot be imported (ModuleNotFoundError"),
        (["--import", "broken.py"], "broken.py cannot be imported (ZeroDivisionError: division by zero)"),
        (["--import", "taken.py"], "'worst' is taken"),
        (["--import"], "--import names no file"),
        (["--import", "--select"], "--import names no file"),
    ],
)
def test_code_that_cannot_be_imported_is_named(capsys, words, said):
    Path("broken.py").write_text("1 / 0\n", encoding="utf-8")
    Path("taken.py").write_text(
        "from drurank.criteria import Criterion, register_criterion\n"
        "register_criterion(Criterion('worst', lambda groups: groups.overall, True))\n",
        encoding="utf-8",
    )
    with pytest.raises(SystemExit) as stop:
        main(["report", *words])
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert said in error


def test_code_is_imported_once_and_named_to_other_processes():
    Path("own.py").write_text("from pathlib import Path\nPath('ran').open('a').write('x')\n", encoding="utf-8")
    for name in ("own.py", str(Path("own.py").resolve()), "array_api_compat"):
        import_code(name)
    assert Path("ran").read_text() == "x"
    assert import_words() == ["--import", str(Path("own.py").resolve()), "--import", "array_api_compat"]


def test_unknown_criterion_says_what_to_do_about_ones_own():
    with pytest.raises(InputError, match="if it is your own, import the file that registers it first"):
        criterion("sharpe")


METHOD = '''
from drurank.methods import ERM


class Mine(ERM):
    """A method in a file of its own."""
'''


def test_a_run_of_imported_code_says_what_to_import_again(run, refused, tmp_path, capsys, fresh):
    file = tmp_path / "mine.py"
    file.write_text(METHOD, encoding="utf-8")
    run("fit", "--import", str(file), "--model", "Mine", *SMALL, "--trainer.max_epochs", "1")
    assert f"drurank --import {file} test --run runs/version_0" in capsys.readouterr().out
    fresh()
    said = refused("test", "--run", "runs/version_0")
    assert said == "the run was made with --import mine.py; give it again, before the other words"
    run("test", "--import", str(file), "--run", "runs/version_0")


@pytest.fixture
def nothing_is_named(monkeypatch):
    """As in another process: no class and no package was named."""

    def forget():
        for name in ("_named", "_whole"):
            monkeypatch.setattr(drurank.imports, name, set())
        monkeypatch.setattr(drurank.current_folder, "_named", {})
        sys.modules.pop("mine_here", None)

    return forget


def test_a_file_of_the_current_folder_is_the_module_that_classes_are_named_by(
    run, refused, capsys, fresh, nothing_is_named
):
    """But not where another module is found by that name."""
    Path("mine_here.py").write_text(METHOD, encoding="utf-8")
    nothing_is_named()
    run("fit", "--import", "mine_here.py", "--model", "mine_here.Mine", *SMALL, "--trainer.max_epochs", "1")
    assert "--import mine_here " not in capsys.readouterr().out
    fresh()
    nothing_is_named()
    assert "mine_here.Mine is not imported" in refused("test", "--run", "runs/version_0")
    for command in ("test", "predict"):
        words = ["--data", "Shortcut", "--output", "p.csv"] if command == "predict" else []
        run(command, "--import", "mine_here.py", "--run", "runs/version_0", *words)
    Path("pyarrow.py").write_text("", encoding="utf-8")
    import_code("pyarrow.py")
    assert "pyarrow" not in drurank.imports._whole


def test_a_run_chosen_by_a_criterion_that_is_not_registered_is_not_tested(run, refused, fresh):
    words = [*SMALL, "--model", "ERM", "--trainer.max_epochs", "1", "--select", "below80"]
    run("fit", "--import", BELOW80, *words)
    fresh()
    assert "there is no criterion 'below80'" in refused("test", "--run", "runs/version_0")
