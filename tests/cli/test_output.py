"""Names of columns, groups, labels and folders are shown as they are, by every command and in every encoding."""

import io
import logging
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
import yaml

from drurank import terminal
from drurank.cli import main
from drurank.cli.flags import warned_as_flags
from runs import FIT, QUIET, ROOT

NAMES = ["[bold]x[/bold]", "[/y]", ":warning:", "\x1b[2J\x1b]0;t\x07", "Zürich €", "\u202egnp", "$x$", "^{a}~\\_%"]
SHOWN = [*NAMES[:3], "\\x1b[2J\\x1b]0;t\\x07", "Zürich €", "\\u202egnp", *NAMES[6:]]
COLUMN = "k[/y]"
ASKED = ["--label", NAMES[0], "--prediction", "p", "--group", COLUMN]
RAW = ("\x1b", "\x07", "\u202e")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Predictions of rows whose groups, columns and labels are such names."""
    file = tmp_path_factory.mktemp("made") / "names [y].csv"
    lines = [f'"{NAMES[0]}",p,"{COLUMN}",x']
    for number in range(320):
        label = NAMES[number // 8 % 2]
        lines.append(f'"{label}","{label}","{NAMES[number % 8]}",{number % 7}')
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


COMMANDS = {
    "report": lambda table: ["report", "--predictions", table, *ASKED, "--output", "[/out]"],
    "inspect": lambda table: ["inspect", "--data.path", table, "--data.label", NAMES[0], "--data.group", COLUMN],
    "split": lambda table: ["split", "--path", table, *ASKED[:2], *ASKED[4:], "--output", "[/out].csv"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_shown_as_they_are(table, monkeypatch, capsys, command):
    monkeypatch.setenv("COLUMNS", "300")
    main([str(word) for word in COMMANDS[command](table)])
    out, err = capsys.readouterr()
    assert not any(sign in out + err for sign in RAW)
    for name in SHOWN[:2] if command == "split" else SHOWN:
        assert name in out, name


class Output:
    """Standard output in an encoding, until the end of the test."""

    def __init__(self, encoding):
        self.content = io.BytesIO()
        self.stream = io.TextIOWrapper(self.content, encoding=encoding, errors="strict", write_through=True)

    @property
    def text(self):
        return self.content.getvalue().decode(self.stream.encoding)


@pytest.fixture(params=["latin-1", "ascii"])
def narrow(request, monkeypatch, capsys):
    """Begins to be standard output when it is called, since pytest puts its own there before the test."""
    monkeypatch.setattr(terminal, "_told", set())
    output = Output(request.param)

    def begin():
        monkeypatch.setattr(sys, "stdout", output.stream)
        return output

    return begin


def said_once(capsys, encoding):
    err = capsys.readouterr().err
    assert err.count("lacks some of the letters; they are shown as ?. Set PYTHONIOENCODING=utf-8") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("command", COMMANDS)
def test_letters_that_the_output_lacks_are_replaced_and_that_is_said_once(table, narrow, capsys, command):
    narrow = narrow()
    for output in ("one", "two"):
        words = COMMANDS[command](table)
        if "--output" in words:
            words[-1] = f"€ {output}{'.csv' if command == 'split' else ''}"
        main([str(word) for word in words])
    if command in ("report", "inspect"):
        assert ("Zürich ?" if narrow.stream.encoding == "latin-1" else "Z?rich ?") in narrow.text
    said_once(capsys, narrow.stream.encoding)


def test_a_run_with_a_bar_in_a_folder_that_the_output_cannot_write(narrow, capsys, tmp_path):
    narrow = narrow()
    words = [*FIT, *QUIET[:2], "--trainer.max_epochs", "1", "--trainer.default_root_dir", "€ [/y] x[/y]"]
    main(words)
    main(["test", "--run", "€ [/y] x[/y]/version_0", *QUIET])
    assert "Kept in ? [/y] x[/y]/version_0" in " ".join(narrow.text.split())
    said_once(capsys, narrow.stream.encoding)


def test_results_of_a_study(results, narrow, capsys, tmp_path):
    narrow = narrow()
    folder = str(shutil.copytree(results, tmp_path / "€ `[/y]"))
    for words in (["table"], ["table", "--format", "latex"], ["table", "--format", "markdown"], ["concordance"]):
        main(["study", words[0], "--folder", folder, *words[1:]])
    assert "Traceback" not in capsys.readouterr().err
    assert "higher is better" in narrow.text or "qDRU+M" in narrow.text


def test_no_page_and_no_card_holds_a_sign_that_acts(tmp_path):
    """Wherever a name of others stands in them: in titles, captions, what a screen reader reads, and tables."""
    rng, evil = np.random.default_rng(3), "x\u202ey\x1b[31mR\x07</script>\"'>\u2028"
    columns = {name: f"{name}\u202e\x1b" for name in ("label", "group", "split", "more")}
    made = {"label": ["yes\u202e", "no\x1b[2J"], "group": [evil, "plain", "=1+1"], "split": ["a\u202e\x1b", "ood_test"]}
    made["more"] = ["p\u202e", "q"]
    table = {columns[name]: rng.choice(values, 80) for name, values in made.items()}
    table["prediction"] = rng.choice(made["label"], 80)
    file = tmp_path / "na\u202e<b>\x1b[31m.parquet"
    pa_parquet.write_table(pa.table(table), file)
    words = [
        "report",
        "--predictions",
        file,
        "--label",
        columns["label"],
        "--group",
        f"{columns['group']},{columns['more']}",
    ]
    words += ["--by", "each", "--split", columns["split"], "--figure", "tpr", "--positive", made["label"][0]]
    main([str(word) for word in [*words, "--html", "o.html", "--card", "--output", "out"]])
    files = [Path("o.html"), *Path("out").rglob("*.md")]
    assert len(files) == 4
    for one in files:
        text = one.read_text(encoding="utf-8")
        assert not terminal.CONTROL.findall(text)
        assert "a\\u202e\\x1b" in text.replace("\\\\", "\\")
    page = files[0].read_text(encoding="utf-8")
    assert '<span class="range">' in page
    assert "&lt;span" not in page
    cards = [yaml.safe_load(one.read_text(encoding="utf-8").split("---")[1]) for one in files[1:]]
    for card in cards:
        found = {result["dataset"]["split"] for result in card["model-index"][0]["results"]}
        assert found == {"a\\u202e\\x1b", "ood_test"}


def logged(name, text):
    """What a logger that is made now prints."""
    handler = logging.StreamHandler(out := io.StringIO())
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    logger.warning("in %s", text)
    logger.removeHandler(handler)
    return out.getvalue()


LOGGERS = ["lightning.pytorch", "lightning.fabric.later", "transformers.later", "huggingface_hub.later"]
LOGGERS += ["drurank.tabular.delimited"]


@pytest.mark.parametrize("name", LOGGERS)
def test_what_libraries_log_is_shown_so_whenever_they_are_imported(name):
    with terminal.plain_messages():
        assert logged(name, NAMES[3]) == f"in {SHOWN[3]}\n"
    assert logged(name, NAMES[3]) == f"in {NAMES[3]}\n"


@pytest.mark.parametrize("file", [terminal.__file__, logging.__file__], ids=["ours", "other"])
def test_warnings_are_shown_so(file):
    with warned_as_flags():
        said = warnings.formatwarning(UserWarning(f"a {NAMES[3]}={NAMES[5]}"), UserWarning, file, 1, "")
    assert SHOWN[3] in said
    assert not any(sign in said for sign in RAW)


def test_nothing_that_a_new_process_prints_acts_on_a_terminal(done, tmp_path):
    """It imports the libraries after the command has begun."""
    run = shutil.copytree(done, tmp_path / "\x1b[2Jrun")
    words = [sys.executable, "-m", "drurank", "predict", "--ckpt_path", str(run / "checkpoints/worst.ckpt"), *QUIET]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "\\x1b[2Jrun" in said.stderr
    assert not any(sign in said.stdout + said.stderr for sign in RAW)
