"""What each command says of a messy table: every fact once, with the file or the split; nothing of no use."""

import csv
import itertools
import logging
import re
from pathlib import Path

import numpy as np
import pytest

from drurank.cli import training

ROLES = ["--data.path", "m.csv", "--data.label", "churn", "--data.group", "clinic", "--data.split", "part"]
READ = ["--data.thousands", ",", "--data.dates", "visited", "--data.exclude", "id"]
JOINED = ["--data.join_twins", "true", "--data.join_feature_twins", "size"]
OF_LIGHTNING = ("Seed set to", "GPU available", "TPU available", "Restoring states", "Loaded model weights")


@pytest.fixture(scope="module")
def messy():
    """Rows with an ID, dates, thousands, names written in several ways, and Yes and No."""
    rng, rows = np.random.default_rng(0), []
    for part, groups in (("train", 6), ("id_val", 6), ("ood_val", 3), ("id_test", 6), ("ood_test", 3)):
        for group, place in itertools.product(range(groups), range(12)):
            name = f"{'North' if part == 'train' or 'id' in part.split('_') else part.title()} {group}"
            rows.append(
                {
                    "id": f"c{len(rows):04}",
                    "visited": f"{13 + place}/{1 + group}/2021",
                    "income": f"{rng.integers(1000, 9000):,}",
                    "size": ["mini", "Mini", " mini ", "max"][rng.integers(4)],
                    "churn": ["Yes", "No"][rng.integers(2)],
                    "clinic": name if place else f" {name.lower()}",
                    "part": part,
                }
            )
    return rows


def write(name, rows, without=()):
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [column for column in rows[0] if column not in without], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def say(run, messy, caplog, recwarn):
    """What a command says by log and warnings."""
    write("m.csv", messy)
    new = [dict(row, size="huge" if place % 9 == 0 else row["size"]) for place, row in enumerate(messy[-24:])]
    write("new.csv", new, without=("churn", "part"))

    def call(*words):
        caplog.clear()
        recwarn.clear()
        with caplog.at_level(logging.INFO):
            run(*words)
        ours = [str(one.message) for one in recwarn if "/drurank/" in one.filename]
        return [*ours, *caplog.messages]

    return call


FACTS = (
    "label: churn",
    "names that differ only by",
    "whose names differ only by",
    "blanks at the ends",
    "looks like a date",
    "day first",
    "are joined",
    "lie outside of what training had",
    "groups that training did not have",
    "category that training did not have",
)


@pytest.mark.parametrize("joined", [[], JOINED], ids=["apart", "joined"])
def test_each_fact_is_said_once_with_its_file_or_split(say, joined):
    said = say("fit", "--data", "Table", *ROLES, *READ, *joined, "--model", "ERM", "--trainer.max_epochs", "1")
    assert "Seed set to 0" in said
    of_data = [line for line in said if line.startswith("m.csv")]
    kinds = ["label: churn", "day first", "blanks at the ends", "are joined" if joined else "the group column 'clinic'"]
    for fact in [*kinds, *([] if joined else ["the feature column 'size'"])]:
        assert sum(fact in line for line in of_data) == 1, fact
    named = {"validate": {"m.csv, id_val", "m.csv, ood_val"}, "test": {"m.csv, id_test", "m.csv, ood_test"}}
    named["predict"] = {"new.csv"}
    for command, where in named.items():
        more = ["--data.path", "new.csv", "--output", "p.csv"] if command == "predict" else []
        said = say(command, "--run", "runs/version_0", *more)
        assert not [line for line in said if line.startswith(OF_LIGHTNING)]
        of_data = [line for line in said if re.match(r"(m|new)\.csv", line)]
        assert {line.partition(":")[0] for line in of_data} <= where
        found = [(line.partition(":")[0], fact) for line in of_data for fact in FACTS if fact in line]
        assert len(found) == len(set(found)) == len(of_data), of_data
        # Of the run's own file the fit has said it.
        assert any("are joined" in line for line in of_data) == (bool(joined) and command == "predict")


def test_validation_ends_with_one_figure_for_each_criterion_and_split(say, capsys):
    say("fit", "--data", "Table", *ROLES, *READ, *JOINED, "--model", "ERM", "--trainer.max_epochs", "1")
    capsys.readouterr()
    say("validate", "--run", "runs/version_0")
    shown = capsys.readouterr().out
    rows = {cells[0].strip(): cells[1:] for line in shown.splitlines() if len(cells := line.strip("│").split("│")) == 3}
    file = Path("runs/version_1/metrics.csv")
    with file.open(encoding="utf-8") as table:
        last = list(csv.DictReader(table))[-1]
    for place, split in enumerate(("val", "id_val")):
        for name in ("loss", "overall", "worst", "qdcg10"):
            assert float(rows[name][place]) == pytest.approx(float(last[f"{split}_{name}"]), abs=5e-5)
    assert shown.count("qdcg10  ") + shown.count("qdcg10 │") == 1


def test_inspect_says_once_that_a_name_does_not_occur(run, messy, caplog):
    write("m.csv", messy)
    run("inspect", *ROLES, "--data.relabel", "{Yess: Yes}")
    said = "m.csv: relabel names 'Yess', which no row has as 'churn'; did you mean 'Yes'? known: "
    assert [message.startswith(said) for message in caplog.messages] == [True]


@pytest.mark.parametrize(
    ("command", "kept"),
    [("fit", ["Seed set to 3", "GPU available: False", "GPU available: True"]), ("test", ["GPU available: True"])],
)
def test_what_lightning_says_is_left_out_where_it_is_of_no_use(caplog, command, kept):
    with caplog.at_level(logging.INFO), training._without_noise([command]):
        logging.getLogger(training.OF_SEEDS).info("Seed set to 3")
        for said in ("GPU available: False", "GPU available: True", "TPU available: False", "Tip: buy"):
            logging.getLogger(training.LOGGERS[0]).info(said)
    assert caplog.messages == kept
