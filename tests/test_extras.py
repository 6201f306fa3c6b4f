"""What comes with an extra is missed by what needs it alone, in one sentence that names the extra."""

import re
import subprocess
import sys

import pytest

from drurank.errors import InputError
from drurank.extras import check_installed
from drurank.networks import Sizes, TextClassifier
from runs import ROOT, read_json

WITHOUT = """
import importlib.metadata, pkgutil, sys

MISSING = ("transformers", "datasets", "tokenizers", "huggingface_hub", "safetensors")
found = importlib.metadata.Distribution.from_name

def not_installed(name):
    if name.replace("-", "_") in MISSING:
        raise importlib.metadata.PackageNotFoundError(name)
    return found(name)

importlib.metadata.Distribution.from_name = not_installed
sys.modules.update(dict.fromkeys(MISSING))

import drurank
for module in pkgutil.walk_packages(drurank.__path__, "drurank."):
    if not module.name.endswith("__main__"):
        __import__(module.name)

from drurank.cli import main
from runs import QUIET, SMALL

main(["fit", "--model", "DRU", *SMALL, *QUIET, "--trainer.max_epochs", "1"])
main(["test", "--run", "runs/version_0", *QUIET])
main(["predict", "--ckpt_path", "runs/version_0/checkpoints/last.ckpt", *QUIET])
main(["report", "--predictions", "p.csv", "--output", "report"])
main(["inspect", "--data", "Table", "--data.path", "t.csv", "--data.label", "y", "--data.group", "g"])
main(["fit", "--model", "ERM", "--data", "Table", "--data.path", "t.csv", "--data.label", "y", "--data.group", "g",
      "--data.split", "part", *QUIET, "--trainer.max_epochs", "1"])
print("ran")
main(["fit", "--help"])
"""


def write_tables(folder):
    rows = [f"{i % 7},{i % 2},g{i % 3},{part}" for part in ("train", "val", "test") for i in range(24)]
    (folder / "t.csv").write_text("\n".join(["x,y,g,part", *rows]))
    (folder / "p.csv").write_text(
        "\n".join(["label,prediction,group", *(f"{i % 2},{i % 5 % 2},g{i % 4}" for i in range(80))])
    )


@pytest.mark.slow
def test_everything_but_texts_runs_without_the_packages_of_texts(tmp_path):
    write_tables(tmp_path)
    path = f"{ROOT}:{ROOT / 'tests/helpers'}"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert "\nran\n" in done.stdout, done.stderr
    assert done.returncode == 0
    assert "--model" in done.stdout.rpartition("\nran\n")[2]
    assert read_json(tmp_path / "runs/version_0/test/qdcg10/report.json")["method"] == "qDRU+M"
    assert (tmp_path / "report/report.json").is_file()


@pytest.fixture
def missing(monkeypatch):
    """Pretend that a package is not installed."""
    return lambda package: monkeypatch.setitem(sys.modules, package, None)


def test_texts_name_the_extra(missing, refused, tmp_path):
    missing("transformers")
    write_tables(tmp_path)
    columns = ["--data.text", "x", "--data.label", "y", "--data.group", "g", "--data.split", "part"]
    words = ["--data", "Text", "--data.path", "t.csv", *columns]
    said = refused("fit", "--model", "ERM", *words, "--model.network", "TextClassifier")
    assert said.startswith("a tokenizer needs the package transformers, which is not installed")
    assert said.endswith("pip install 'drurank[text]'")


def test_encoders_name_the_extra(missing):
    missing("transformers")
    with pytest.raises(InputError, match=r"encoder needs the package transformers.*: pip install 'drurank\[text\]'$"):
        TextClassifier(Sizes(0, 2, vocabulary=30, max_length=8, tokenizer="any"))


def test_the_hub_names_the_extra(missing, refused):
    missing("datasets")
    data = ["--data", "Table", "--data.path", "some/dataset", "--data.label", "y", "--data.group", "g"]
    said = refused("fit", "--model", "ERM", *data)
    assert re.search(r"'some/dataset'.*needs the package datasets.*: pip install 'drurank\[text\]'", said)


def test_a_package_that_is_broken_is_not_called_missing(monkeypatch, tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        check_installed("broken", "text", "a test")
    with pytest.raises(InputError, match="a test needs the package no_such_package"):
        check_installed("no_such_package", "text", "a test")
