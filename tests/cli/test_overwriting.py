"""Every command that is given an output refuses to replace what is there, unless it is told to."""

import json
import re
import shutil
from pathlib import Path

import pytest

from drurank.cli import COMMANDS as COMMANDS_OF_CLI
from drurank.cli import TRAINING, main
from drurank.cli.early import COMMANDS as EARLY
from drurank.cli.early import options_of_command
from drurank.cli.study import SHOWN
from drurank.errors import InputError
from drurank.files import refuse_existing
from drurank.study.folder import refuse_other_files
from studies import ERM, finish, written

ROWS = ["g,y,yhat,x", *(f"{'abcdef'[row % 6]},{row // 6 % 2},{row // 3 % 2},{row}" for row in range(48))]
COLUMNS = ["--label", "y", "--prediction", "yhat", "--group", "g"]
DATA = ["--data.path", "t.csv", "--data.label", "y", "--data.group", "g"]
COMPARED = ["--first", "ERM", "--second", "DRU"]
COMMANDS = {
    "split": (["split", "--path", "t.csv", *COLUMNS[:2], *COLUMNS[4:], "--output", "s.csv"], "s.csv"),
    "report": (["report", "--predictions", "t.csv", *COLUMNS, "--output", "report"], "report/groups.png"),
    "report of two": (
        ["report", "--predictions", "t.csv", "u.csv", *COLUMNS, "--output", "out"],
        "out/comparison_all.csv",
    ),
    "inspect": (["inspect", *DATA, "--output", "seen"], "seen/findings.json"),
    "compare": (["study", "compare", "--folder", "{study}", *COMPARED, "--output", "c.csv"], "c.csv"),
    "plot": (["study", "plot", "--folder", "{study}", "--output", "drawn"], "drawn/methods.png"),
    "predict": (["predict", "--run", "{run}", "--output", "p.csv", "--trainer.accelerator", "cpu"], "p.csv"),
    "export": (["export", "--to", "safetensors", "--run", "{run}", "--output", "o"], "o/README.md"),
}


@pytest.mark.parametrize(("words", "there"), COMMANDS.values(), ids=COMMANDS)
def test_what_exists_is_replaced_only_if_that_is_said(words, there, results, done, capsys):
    for name in ("t.csv", "u.csv"):
        Path(name).write_text("\n".join(ROWS) + "\n")
    words = [word.format(study=results, run=done) for word in words]
    Path(there).parent.mkdir(exist_ok=True)
    Path(there).write_text("mine")
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    said = f"error: {there} exists; give another output, or --overwrite true to replace it\n"
    assert capsys.readouterr().err.endswith(said)
    assert Path(there).read_text() == "mine"
    if words[1] != "plot":  # which takes long
        main([*words, "--overwrite"])
        assert Path(there).read_bytes() != b"mine"


READ = {
    "report": (["report", "--predictions", "out/groups.csv", *COLUMNS, "--output", "out"], "out/groups.csv"),
    "report of two": (
        ["report", "--predictions", "out/comparison_all.csv", "u.csv", *COLUMNS, "--output", "out"],
        "out/comparison_all.csv",
    ),
    "inspect": (
        ["inspect", "--data.path", "out/groups.csv", *DATA[2:], "--output", "out"],
        "out/groups.csv",
    ),
    "split, and its manifest": (
        ["split", "--path", "s.manifest.json", *COLUMNS[:2], *COLUMNS[4:], "--output", "s.csv"],
        "s.manifest.json",
    ),
}


@pytest.mark.parametrize(("words", "read"), READ.values(), ids=READ)
def test_what_is_read_is_never_replaced(words, read, capsys):
    Path("out").mkdir()
    rows = [dict(zip(ROWS[0].split(","), row.split(","), strict=True)) for row in ROWS[1:]]
    content = "\n".join(map(json.dumps, rows)) if read.endswith(".json") else "\n".join(ROWS)
    for name in (read, "u.csv"):
        Path(name).write_text(content + "\n")
    with pytest.raises(SystemExit) as stop:
        main([*words, "--overwrite"])
    assert stop.value.code == 2
    assert capsys.readouterr().err.endswith(f"{read} would be written over, and is what is read; give another output\n")
    assert Path(read).read_text() == content + "\n"


READ_BY_STUDIES = ["plan.json", "candidates/*/manifest.json", "candidates/*/groups.parquet", "trials/*.json"]


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("pattern", [*READ_BY_STUDIES, "test/worst/groups.parquet", "test/worst/report.json"])
def test_what_a_comparison_reads_is_never_replaced(results, done, tmp_path, capsys, pattern, linked):
    folder = shutil.copytree(done if pattern.startswith("test") else results, tmp_path / "copied")
    (folder / "trials").mkdir(exist_ok=True)
    (folder / "trials/one.json").write_text('{"key": "x"}')
    file, link = next(folder.glob(pattern)), tmp_path / "c.csv"
    link.symlink_to(file)
    output, before = link if linked else file, file.read_bytes()
    of = ["--runs", str(done), str(folder)] if pattern.startswith("test") else ["--folder", str(folder), *COMPARED]
    with pytest.raises(SystemExit) as stop:
        main(["study", "compare", *of, "--output", str(output), "--overwrite"])
    assert stop.value.code == 2
    assert f"{output} would be written over, and is what is read" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_pictures_of_a_study_replace_nothing_that_they_are_drawn_from(results, tmp_path, capsys):
    study = shutil.copytree(results, tmp_path / "study")
    (tmp_path / "drawn").mkdir()
    (tmp_path / "drawn/methods.png").symlink_to(study / "plan.json")
    before = (study / "plan.json").read_bytes()
    with pytest.raises(SystemExit):
        main(["study", "plot", "--folder", str(study), "--output", str(tmp_path / "drawn"), "--overwrite"])
    assert "drawn/methods.png would be written over, and is what is read" in capsys.readouterr().err
    assert (study / "plan.json").read_bytes() == before
    assert [path.name for path in (tmp_path / "drawn").iterdir()] == ["methods.png"]


OF_OTHERS = {
    "run": ["weights.csv", "metrics.csv", "config.yaml", "selection.json", "checkpoints/worst.ckpt"],
    "results": ["plan.json", "manifest.json", "groups.parquet"],
}


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in OF_OTHERS.items() for name in names])
def test_no_file_of_a_run_or_a_study_is_replaced_even_if_that_is_said(owner, name, results, done, tmp_path):
    whole = {"run": done, "results": results}[owner]
    folder = shutil.copytree(whole, tmp_path / "copied")
    file = sorted(folder.rglob(Path(name).name))[0]
    for overwrite in (True, False):
        with pytest.raises(InputError, match=r"is a file of the (run|study) in .*copied.*give another output"):
            refuse_existing([file], overwrite=overwrite)
    refuse_existing([folder / "predictions.csv", file.with_name("mine.csv")], overwrite=True)


def test_predictions_are_not_written_over_the_weights_of_their_run(done, tmp_path, refused):
    run = shutil.copytree(done, tmp_path / "run")
    before = (run / "weights.csv").read_bytes()
    said = refused("predict", "--run", run, "--output", run / "weights.csv", "--overwrite")
    assert f"{run / 'weights.csv'} would be written over, and is a file of the run in {run}" in said
    assert (run / "weights.csv").read_bytes() == before


OF_STUDY = ["--folder", "{study}"]
OUTPUTS = {
    "split --output": (["split", "--path", "t.csv", *COLUMNS[:2], *COLUMNS[4:]], "file"),
    "report --output": (["report", "--predictions", "t.csv", *COLUMNS], "groups.csv"),
    "report --html": (["report", "--predictions", "t.csv", *COLUMNS, "--output", "r"], "file"),
    "inspect --output": (["inspect", *DATA], "groups.csv"),
    "predict --output": (["predict", "--run", "{run}", "--trainer.accelerator", "cpu"], "file"),
    "export --output": (["export", "--to", "safetensors", "--run", "{run}"], "model.safetensors"),
    "study compare --output": (["study", "compare", *OF_STUDY, *COMPARED], "file"),
    "study compare --html": (["study", "compare", *OF_STUDY, *COMPARED], "file"),
    "study report --html": (["study", "report", *OF_STUDY], "file"),
    "study plot --output": (["study", "plot", *OF_STUDY], "groups.png"),
    "study export-best --output": (["study", "export-best", *OF_STUDY], "config.yaml"),
    "study run --output": (["study", "run", "--config", "s.yaml"], "plan.json"),
}
"""Every option of the command line that names what is written: the words before it, and a file that it would write."""
NO_OUTPUT = {
    *(f"{command} --ckpt_path" for command in (*TRAINING, "export")),
    "split --cache_dir",
    "export --to",
    "test --html",
}
"""Files that are read, a cache, whose files have names that are digests, a format, and whether there is a page."""
OVERWRITE = {
    "split",
    "report",
    "inspect",
    "predict",
    "export",
    "study compare",
    "study plot",
    "study report",
    "study export-best",
}
"""Commands that replace files if told so."""


@pytest.fixture
def refused_with(capsys):
    """The one sentence, without ``error: ``, that a command ends with."""

    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(list(words))
        assert stop.value.code == 2
        return capsys.readouterr().err.splitlines()[-1].removeprefix("error: ")

    return call


def options_of(command, capsys):
    if command in EARLY:
        return options_of_command(command)
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    return re.findall(r"^  (?:-\w, )?(--[\w.]+)", capsys.readouterr().out, re.MULTILINE)


def test_all_outputs_of_the_command_line_are_known_here(capsys):
    every = {**TRAINING, **COMMANDS_OF_CLI}
    commands = [*(one for one in every if one != "study"), *(f"study {one}" for one in ("run", *SHOWN))]
    found = {command: options_of(command, capsys) for command in commands}
    named = {
        f"{command} {option}"
        for command, options in found.items()
        for option in options
        if re.search(r"^--((\w+_)?(output|html|save|write|out|to)(_\w+)?|\w+_(file|path|dir))$", option)
    }
    assert named - NO_OUTPUT == set(OUTPUTS)
    assert {command for command in commands if "--overwrite" in found[command]} == OVERWRITE


@pytest.mark.parametrize("owner", ["run", "study", "own"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_no_output_replaces_a_file_of_a_run_or_a_study_or_one_unasked(
    output, owner, results, done, tmp_path, refused_with
):
    (words, name), (command, option) = OUTPUTS[output], output.rsplit(" ", 1)
    for table in ("t.csv", "p.csv"):
        Path(table).write_text("\n".join(ROWS) + "\n")
    written(Path("s.yaml"), candidates=ERM, seeds=[0])
    folder = Path(shutil.copytree(results if owner == "study" else done, tmp_path / "others"))
    if owner == "own":
        shutil.rmtree(folder)
    place = folder / {"run": "test/worst", "study": "shared", "own": "mine"}[owner]
    target = place / ("x.csv" if name == "file" and option != "--html" else "x.html" if name == "file" else name)
    place.mkdir(parents=True, exist_ok=True)
    target.write_text("mine")
    given = target if name == "file" else place
    words = [word.format(study=results, run=done) for word in words]
    asked = [[], ["--overwrite"]] if command in OVERWRITE and owner != "own" else [[]]
    for more in asked:
        said = refused_with(*words, option, str(given), *more)
        # A configuration of one's own is taken for that of a run.
        expected = "exists; give another output" if owner == "own" else f"is a file of the {owner} in {folder}"
        assert said.startswith(str(place))
        assert expected in said or (target.name == "config.yaml" and "is a file of the run in" in said)
        assert target.read_text() == "mine"


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_output_is_written_into_a_file(output, results, done, refused_with):
    (words, name), option = OUTPUTS[output], output.rsplit(" ", 1)[1]
    Path("t.csv").write_text("\n".join(ROWS) + "\n")
    written(Path("s.yaml"), candidates=ERM, seeds=[0])
    Path("taken.csv").write_text("mine")
    given = "taken.csv/x.csv" if name == "file" else "taken.csv"
    said = refused_with(*(word.format(study=results, run=done) for word in words), option, given)
    assert "taken.csv" in said
    assert Path("taken.csv").read_text() == "mine"


def test_a_study_goes_on_in_its_own_folder_and_in_no_plan_that_it_reads(tmp_path, refused_with):
    file = written(tmp_path / "plan.json", candidates=ERM, seeds=[0])
    said = refused_with("study", "run", "--config", str(file), "--output", str(tmp_path))
    assert said == f"{file} would be written over, and is what is read; give another output"
    finish(written(tmp_path / "s.yaml", candidates=ERM, seeds=[0]), tmp_path / "study")
    refuse_other_files(tmp_path / "study", str(tmp_path / "s.yaml"))


@pytest.mark.parametrize(
    ("command", "name"), [("report", "report.md"), ("seeds", "seeds.json"), ("plot", "groups.png")]
)
def test_what_a_study_writes_into_itself_replaces_nothing_that_it_is_read_from(
    results, tmp_path, refused_with, command, name
):
    study = shutil.copytree(results, tmp_path / "study")
    (study / name).unlink(missing_ok=True)
    (study / name).symlink_to("plan.json")
    before = (study / "plan.json").read_bytes()
    method = ["--method", "ERM"] if command == "seeds" else []
    said = refused_with("study", command, "--folder", str(study), *method)
    assert said == f"{study / name} would be written over, and is what is read; give another output"
    assert (study / "plan.json").read_bytes() == before


@pytest.mark.parametrize("option", ["--count x", "--score p", "--threshold 0.3", "--weight w", "--card"])
def test_two_tables_take_no_option_without_effect(refused_with, option):
    for table in ("t.csv", "u.csv"):
        Path(table).write_text("\n".join(ROWS) + "\n")
    said = refused_with("report", "--predictions", "t.csv", "u.csv", *COLUMNS, *option.split())
    assert said.startswith(option.split()[0])
    of_scores = option.startswith(("--score", "--threshold"))
    why = (
        "two tables are compared by what they predict, not by scores" if of_scores else "it is of a report on one table"
    )
    assert f", and {why};" in said
    assert said.endswith("; leave it out to compare two")


CLASHING = [
    ["--html", "out/report.json", "--output", "out"],
    ["--html", "out/../out/groups.csv", "--output", "out"],
    ["--html", "linked/groups.png", "--output", "out"],
    ["--html", "out", "--output", "out"],
    ["--html", "new/report", "--output", "new/report"],
    ["--html", "new", "--output", "new/report"],
    ["--html", "out/model_card.md", "--output", "out", "--card"],
    ["--html", "out/report.json/x.html", "--output", "out"],
]


@pytest.mark.parametrize("source", ["predictions", "counts"])
@pytest.mark.parametrize("words", CLASHING, ids=" ".join)
def test_outputs_that_clash_are_refused_before_anything_is_written(refused_with, tmp_path, source, words):
    Path("t.csv").write_text("\n".join(ROWS) + "\n")
    Path("c.csv").write_text("group,count,correct\na,5,3\nb,5,4\n")
    Path("linked").symlink_to("out")
    before = sorted(tmp_path.rglob("*"))
    table = ["--predictions", "t.csv", *COLUMNS] if source == "predictions" else ["--counts", "c.csv"]
    said = refused_with("report", *table, *words, "--overwrite")
    assert said.endswith("; give another output")
    assert "would be written over by another output" in said or "is to lie in it" in said
    assert sorted(tmp_path.rglob("*")) == before


DANGLING = {
    "report": ["report", "--predictions", "t.csv", *COLUMNS, "--output", "gone"],
    "split": ["split", "--path", "t.csv", *COLUMNS[:2], *COLUMNS[4:], "--output", "gone/s.csv"],
    "inspect": ["inspect", *DATA, "--output", "gone"],
    "compare": ["study", "compare", "--folder", "{study}", *COMPARED, "--output", "gone/c.csv"],
}


@pytest.mark.parametrize("words", DANGLING.values(), ids=DANGLING)
def test_an_output_folder_that_is_a_link_to_nothing_is_named(words, results, capsys):
    Path("t.csv").write_text("\n".join(ROWS) + "\n")
    Path("gone").symlink_to("nowhere")
    with pytest.raises(SystemExit):
        main([word.format(study=results) for word in words])
    assert "gone is a link to nowhere, which is not there; give another path" in capsys.readouterr().err
