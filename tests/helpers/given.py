"""What the pages of the documentation speak of, in small: tables, pictures and configurations by their names."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import yaml

from painting import write_pictures
from runs import CONFIGS
from studies import SMALL

SIZE = 24
"""Rows of a group of the tables."""
TABLE = {"path": "split.csv", "label": "stars", "group": "writer", "split": "split"}


def reviews():
    """A table of answers, Yes or No, that go with age and job.

    Of 14 writers two are in ``ood_val`` and two in ``ood_test``, each of the others in the splits of training groups.
    """
    rng = np.random.default_rng(0)
    rows = []
    for number in range(14):
        known = ("train", "train", "id_val", "id_test")
        parts = known if number < 10 else ("ood_val",) if number < 12 else ("ood_test",)
        for row in range(SIZE):
            age, job = int(rng.integers(20, 70)), ("clerk", "nurse", "smith")[rng.integers(3)]
            answer = ("No", "Yes")[int(age + 12 * (job == "nurse") + rng.normal(0, 8) > 48)]
            rows.append(
                {"age": age, "job": job, "stars": answer, "writer": f"w{number}", "split": parts[row % len(parts)]}
            )
    return pa.Table.from_pylist(rows)


def predictions(classes, seed=0):
    """Labels, predictions and probabilities of 600 rows, under the names that the pages give their columns."""
    rng = np.random.default_rng(3)  # of the rows; the seed is that of the model
    group, label = np.arange(600) % 12, rng.integers(0, 2, 600)
    said = np.where(np.random.default_rng(seed).random(600) < 0.75, label, 1 - label)
    split = np.where(group < 6, np.where(group < 3, "ood_val", "id_val"), np.where(group < 9, "ood_test", "id_test"))
    label_names, said_names = np.array(classes)[label], np.array(classes)[said]
    groups = [f"r{one}" for one in group]
    return pa.table(
        {
            **dict.fromkeys(("label", "y"), label_names),
            **dict.fromkeys(("prediction", "yhat"), said_names),
            **dict.fromkeys(("group", "race", "g"), groups),
            **dict.fromkeys(("split", "part"), split),
            "w": rng.integers(1, 4, 600),
            "p": np.clip(said * 0.4 + rng.random(600) * 0.6, 0.01, 0.99),
        }
    )


def write_given(folder, classes):
    """Every table, configuration and picture that a page names.

    Args:
        folder: in which they are written.
        classes: labels of the tables of predictions.
    """
    table = reviews()
    for name in ("split.csv", "reviews.csv", *(f"split_{number}.csv" for number in range(5))):
        pa_csv.write_csv(table, folder / name)
    pa_csv.write_csv(table.rename_columns(["age", "job", "label", "group", "split"]), folder / "table.csv")
    pa_parquet.write_table(table, folder / "reviews.parquet")
    unsplit = {"t.csv": table.rename_columns(["age", "job", "y", "g", "split"]), "data.csv": table}
    for name, one in unsplit.items():
        pa_csv.write_csv(one.drop_columns("split"), folder / name)
    new = table.slice(0, 10).select(["age", "job"])
    pa_csv.write_csv(new.append_column("id", pa.array(range(10))), folder / "new.csv")
    for name, seed in (("p.csv", 0), ("a.csv", 0), ("b.csv", 1)):
        pa_csv.write_csv(predictions(classes, seed), folder / name)
    (folder / "predictions").mkdir()
    for number in range(2):
        pa_parquet.write_table(predictions(classes).slice(300 * number, 300), folder / f"predictions/{number}.parquet")
    write_files(folder)
    write_pictures(folder)
    (folder / "meta.csv").rename(folder / "metadata.csv")
    (folder / "photos").symlink_to(folder)


def write_files(folder):
    """Configurations of a fit and of studies, and arrays."""
    table = {"class_path": "Table", "init_args": TABLE}
    (folder / "my.yaml").write_text(yaml.safe_dump({"data": table, "model": {"class_path": "DRU"}}))
    (folder / "my_study.yaml").write_text(yaml.safe_dump({**SMALL, "seeds": [0], "criteria": ["below80", "worst"]}))
    shutil.copytree(CONFIGS, folder / "configs")
    study = yaml.safe_load((CONFIGS / "study/table.yaml").read_text(encoding="utf-8"))
    for entry in study["candidates"]:
        entry |= {name: value[0] for name, value in entry.items() if isinstance(value, list)}
    study |= {"trainer": {"max_epochs": 1}, "seeds": [0, 1]}
    (folder / "configs/study/table.yaml").write_text(yaml.safe_dump(study))
    study["data"]["init_args"] = TABLE
    (folder / "mine.yaml").write_text(yaml.safe_dump(study))
    ward, split = np.repeat(["c", "a", "b", "d"], 12), np.repeat(["train", "ood_val", "ood_test"], (24, 12, 12))
    x = np.random.default_rng(0).normal(size=(48, 4))
    np.savez(folder / "visits.npz", x=x, y=np.arange(48) % 2, ward=ward, split=split)
