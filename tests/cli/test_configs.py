"""Configurations are written, read and composed, and each one that is shipped runs."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
import torch
import yaml

from drurank.training.optimization import Optimization
from encoders import write_tiny
from reference import criteria
from runs import CONFIGS, FIT, QUIET, SMALL, read_csv, read_json


def test_print_config_is_a_configuration(printed, run, tmp_path):
    text = printed(*FIT, "--model.cutoff", "30", "--trainer.max_epochs", "1", *QUIET, "--print_config")
    config = yaml.safe_load(text)
    assert config["model"]["init_args"]["cutoff"] == 30
    (tmp_path / "printed.yaml").write_text(text)
    run("fit", "--config", "printed.yaml")
    assert yaml.safe_load((tmp_path / "runs/version_0/config.yaml").read_text())["model"] == config["model"]


def test_configurations_compose_and_the_last_word_wins(run, tmp_path):
    (tmp_path / "one.yaml").write_text(
        "model: {class_path: DRU, init_args: {cutoff: 1e1, optimizer: {class_path: SGD, init_args: {lr: 1e-3}}}}\n"
        "data: {class_path: Shortcut, init_args: {groups: [4, 3, 3], group_size: 6}}\n"
    )
    (tmp_path / "two.yaml").write_text(
        "model: {init_args: {cutoff: 20, upweight: all}}\n"
        "data: {init_args: {group_size: 5}}\n"
        "trainer: {max_epochs: 1}\n"
    )
    run("fit", "--config", "one.yaml", "--config", "two.yaml", "--data.seed", "1", "--data.seed", "2")
    config = yaml.safe_load((tmp_path / "runs/version_0/config.yaml").read_text())
    method, data = config["model"]["init_args"], config["data"]["init_args"]
    assert (method["cutoff"], method["upweight"], method["optimizer"]["init_args"]["lr"]) == (20, "all", 0.001)
    assert (data["groups"], data["group_size"], data["seed"]) == ([4, 3, 3], 5, 2)
    assert len(read_csv(tmp_path / "runs/version_0/weights.csv")) == 8


TINY = {
    "shortcut": ["--data.groups", "[4,3,3]", "--data.group_size", "6"],
    "synthetic": ["--data.groups", "[4,3,3]", "--data.group_size", "6"],
    "pictures": ["--data.groups", "[4,3,3]", "--data.group_size", "6"],
}
OF_PICTURES = {"waterbirds", "celeba", "metashift", "iwildcam", "fmow"}
"""Those are run in data/test_image_layouts.py, on folders as they are published."""


def tiny_table(name):
    """Rows like those of the file that a configuration names: the same columns, 4 groups a part."""
    rng = np.random.default_rng(0)
    n = 60
    split = np.array(["train"] * 36 + ["ood_val"] * 12 + ["ood_test"] * 12)
    group = [f"{s[:3]}{i % 4}" for i, s in enumerate(split)]
    columns = {"group": group, "split": split, "label": rng.integers(0, 2, n)}
    if name == "insteval":
        codes = {column: rng.integers(1, 5, n) for column in ("studage", "lectage", "service", "dept", "lecturer")}
        return {**columns, **codes}
    if name == "wisdm_har":
        peak = rng.normal(size=n)
        peak[[3, 40]] = np.nan
        return {**columns, "XPEAK": peak, "YAVG": rng.normal(size=n), "label_name": columns["label"].astype(str)}
    return {**columns, "age": rng.normal(size=n), "sex": rng.choice(["f", "m"], n), "felony": rng.random(n) < 0.5}


def table_words(name, folder):
    columns = {k: pa.array(v, from_pandas=True) for k, v in tiny_table(name).items()}
    pa_parquet.write_table(pa.table(columns), folder / "tiny.parquet")
    return ["--data.path", str(folder / "tiny.parquet")]


def wilds_words(folder):
    """The same rows as reviews in a folder of the benchmark, and a small encoder in another."""
    rows = tiny_table("")
    code = {"train": 0, "ood_val": 1, "ood_test": 3}
    stars = [f"{label + 1}.0" for label in rows["label"]]
    text = [f"{group},{star},good\n" for group, star in zip(rows["group"], stars, strict=True)]
    (folder / "splits").mkdir()
    (folder / "splits/user.csv").write_text("".join(["split\n", *(f"{code[split]}.0\n" for split in rows["split"])]))
    (folder / "reviews.csv").write_text("".join(["reviewerID,overall,reviewText\n", *text]))
    tokenizer = write_tiny(folder / "tiny")
    words = ["--data.path", folder, "--data.tokenizer", tokenizer, "--data.max_length", 8]
    return [*words, "--data.cache_dir", folder / "cache", "--model.network", "TextClassifier"]


def words_of(name, folder):
    if name in TINY:
        return TINY[name]
    data = yaml.safe_load((CONFIGS / f"data/{name}.yaml").read_text(encoding="utf-8"))["data"]
    if data["class_path"] == "drurank.data.Text":
        return text_words(data["init_args"], folder)
    return wilds_words(folder) if name == "wilds_amazon" else table_words(name, folder)


def text_words(options, folder):
    """Words for a table of texts with the columns that a configuration names, and for a tiny encoder."""
    known = tiny_table("table")
    labels = list(options.get("relabel", range(1, 6)))
    known |= {"label": [labels[i % len(labels)] for i in range(60)], "text": ["good", "bad one", "fine"] * 20}
    columns = {options[what]: known[what] for what in ("text", "label", "group", "split")}
    pa_parquet.write_table(pa.table(columns), folder / "tiny.parquet")
    encoder = ["--data.tokenizer", write_tiny(folder / "encoder"), "--data.max_length", "32"]
    where = ["--data.path", folder / "tiny.parquet", "--data.cache_dir", folder / "cache"]
    return [*where, *encoder, "--model.network", "TextClassifier"]


@pytest.mark.parametrize("name", sorted({path.stem for path in (CONFIGS / "data").glob("*.yaml")} - OF_PICTURES))
def test_every_data_configuration_runs(run, tmp_path, name):
    words = words_of(name, tmp_path)
    run("fit", "--config", CONFIGS / f"data/{name}.yaml", "--model", "DRU", *words, "--trainer.max_epochs", "1")
    run("test", "--run", "runs/version_0")
    report = read_json(tmp_path / "runs/version_0/test/qdcg10/report.json")
    assert report["splits"]["ood_test"]["rows"] == (18 if name in TINY else 12)
    assert report["splits"]["ood_test"]["groups"] == (3 if name in TINY else 4)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("erm", "ERM"),
        ("qdru_m", "qDRU+M"),
        ("qdru_g", "qDRU+G"),
        ("gdru_m", "gDRU+M"),
        ("gdru_g", "gDRU+G"),
        ("worst_m", "Worst+M"),
        ("worst_g", "Worst+G"),
        ("const_m", "Const+M"),
        ("group_dro", "GroupDRO"),
        ("cvar", "CVaR"),
        ("chi_square", "ChiSquare"),
        ("jtt", "JTT"),
        ("irm", "IRM"),
        ("dfr", "DFR"),
    ],
)
def test_every_method_configuration_runs(run, tmp_path, name, title):
    epochs = 2 if name == "jtt" else 1  # 1 of its first stage
    fitted = run("fit", "--config", CONFIGS / f"method/{name}.yaml", *SMALL, "--trainer.max_epochs", epochs)
    assert fitted.model.title == title  # that of reports
    if name in ("qdru_m", "dfr"):  # the others are tested in methods/test_every_method.py
        run("test", "--run", "runs/version_0")
        assert read_json(tmp_path / "runs/version_0/test/qdcg10/report.json")["method"] == title


def test_every_method_configuration_is_run_above():
    names = {mark for mark, _ in test_every_method_configuration_runs.pytestmark[0].args[1]}
    assert names == {path.stem for path in (CONFIGS / "method").glob("*.yaml")}


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONFIGS / "trainer").glob("*.yaml")))
def test_every_trainer_configuration_runs(run, tmp_path, name):
    data = ["--config", CONFIGS / "data/synthetic.yaml", *TINY["synthetic"]]
    epochs = {"short": 5, "converged": 10, "quick": 3, "text_paper": 5, "text_wilds": 3, "text_minilm": 3}
    epochs |= {"waterbirds": 300, "celeba": 50, "iwildcam": 12, "fmow": 60}
    stated = yaml.safe_load((CONFIGS / f"trainer/{name}.yaml").read_text(encoding="utf-8"))
    assert stated["trainer"]["max_epochs"] == epochs[name]
    fewer = ["--trainer.max_epochs", 2] if name in OF_PICTURES else []
    run("fit", *data, "--config", CONFIGS / "method/qdru_m.yaml", "--config", CONFIGS / f"trainer/{name}.yaml", *fewer)
    folder = tmp_path / "runs/version_0"
    config = yaml.safe_load((folder / "config.yaml").read_text())
    ended = int(read_csv(folder / "weights.csv")[-1]["epoch"])
    assert ended == (2 if fewer else epochs[name]) or (name == "text_paper" and ended >= 3)  # which stops early
    rates = {"short": (16, 1e-5), "converged": (256, 1e-3), "text_paper": (16, 1e-5), "text_wilds": (8, 1e-5)}
    rates |= {"waterbirds": (128, 1e-3), "celeba": (128, 1e-4), "iwildcam": (16, 3e-5), "fmow": (32, 1e-4)}
    if name in rates:
        optimizer = config["model"]["init_args"]["optimizer"]["init_args"]
        assert (config["data"]["init_args"]["batch_size"], optimizer["lr"]) == rates[name]
        decay = {"waterbirds": 1e-4, "celeba": 1e-4, "iwildcam": 0, "fmow": 0}
        assert optimizer["weight_decay"] == decay.get(name, 0.01)
        assert optimizer.get("momentum") == (0.9 if name in ("waterbirds", "celeba") else None)


def test_every_configuration_is_of_a_kind_that_is_run():
    assert {path.name for path in CONFIGS.iterdir()} == {"data", "method", "network", "split", "study", "trainer"}


def test_the_network_of_the_paper_is_given_by_a_configuration(run, tmp_path):
    files = ("data/hotel_reviews", "method/qdru_m", "network/distilbert", "trainer/text_wilds")
    words = [word for file in files for word in ("--config", CONFIGS / f"{file}.yaml")]
    run("fit", *words, *words_of("hotel_reviews", tmp_path), "--trainer.max_epochs", "1")
    config = yaml.safe_load((tmp_path / "runs/version_0/config.yaml").read_text())
    assert config["model"]["init_args"]["network"]["class_path"] == "drurank.networks.TextClassifier"
    assert config["data"]["init_args"]["max_length"] == 32
    assert read_json("runs/version_0/selection.json").keys() == {"p10", "qdcg10"}


# ---- tables without a configuration


def test_table_given_by_flags_alone(run, tmp_path):
    table = table_words("table", tmp_path)
    columns = ["--data.label", "label", "--data.group", "group", "--data.split", "split"]
    model = ["--model", "DRU", "--model.network", "MLP"]
    run("fit", "--data", "Table", *table, *columns, *model, "--trainer.max_epochs", "3")
    run("test", "--run", "runs/version_0")
    report = read_json(tmp_path / "runs/version_0/test/qdcg10/report.json")
    groups = read_csv(tmp_path / "runs/version_0/test/qdcg10/groups.csv")
    assert [row["group"] for row in groups] == ["ood0", "ood1", "ood2", "ood3"]
    assert {row["seen_in_training"] for row in groups} == {"false"}
    should = criteria([int(row["correct"]) for row in groups], [int(row["count"]) for row in groups])
    got = {name: entry["value"] for name, entry in report["splits"]["ood_test"]["criteria"].items()}
    assert got == pytest.approx(should, rel=1e-9)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_table_of_test_rows_alone_is_tested_with_what_training_fitted(run, fit, tmp_path, suffix):
    rng = np.random.default_rng(0)

    def write(name, rows, split, groups):
        x, colour = rng.normal(size=rows), rng.choice(["red", "blue"], rows)
        columns = {"x": x, "colour": colour, "label": np.where(x + (colour == "red") > 0.5, "yes", "no")}
        columns |= {"group": np.array(groups)[np.arange(rows) % len(groups)], "split": split(rows)}
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        (pa_csv.write_csv if name.endswith("csv") else pa_parquet.write_table)(table, tmp_path / name)

    write("t.parquet", 90, lambda n: np.array(["train", "train", "ood_val"])[np.arange(n) % 3], ["a", "b", "c"])
    write(f"other.{suffix}", 40, lambda n: np.array(["test"] * n), ["new1", "new2", "a", "new3"])
    columns = ["--data.label", "label", "--data.group", "group", "--data.split", "split"]
    data = ["--data", "Table", "--data.path", str(tmp_path / "t.parquet"), *columns]
    run("fit", "--model", "DRU", *data, "--trainer.max_epochs", "1")
    run(
        "test",
        "--ckpt_path",
        "runs/version_0/checkpoints/qdcg10.ckpt",
        "--data.path",
        str(tmp_path / f"other.{suffix}"),
    )
    rows = read_csv(tmp_path / "runs/version_1/groups.csv")
    assert {(row["group"], row["count"], row["seen_in_training"]) for row in rows} == {
        ("a", "10", "true"),
        ("new1", "10", "false"),
        ("new2", "10", "false"),
        ("new3", "10", "false"),
    }


def test_the_docs_state_the_defaults_that_are_printed_and_used(printed):
    page = (CONFIGS.parent / "docs/command_line.md").read_text(encoding="utf-8")
    section = page.partition("## Defaults\n")[2].partition("\n## ")[0]
    stated = dict(re.findall(r"^\| `--([\w.]+)` \| ([^ |]+)", section, re.MULTILINE))
    words = ["--data", "Table", "--data.path", "t.csv", "--data.label", "y", "--model", "DRU"]
    config = yaml.safe_load(printed("fit", *words, "--print_config"))
    assert config["model"]["init_args"]["optimizer"] is None
    made = Optimization(None, None, "epoch").optimizer([torch.nn.Parameter(torch.zeros(1))])
    config["model"]["init_args"]["optimizer"] = {"class_path": type(made).__name__, "init_args": made.defaults}

    def value(option):
        found = config
        for name in option.split("."):
            found = found.get("init_args", found)[name]
        return found["class_path"].rpartition(".")[2] if isinstance(found, dict) else found

    assert {option: yaml.safe_load(text) for option, text in stated.items()} == {
        option: value(option) for option in stated
    }
    wanted = {"trainer.max_epochs", "data.batch_size", *(f"model.optimizer{of}" for of in ("", ".lr", ".weight_decay"))}
    assert wanted <= stated.keys()
