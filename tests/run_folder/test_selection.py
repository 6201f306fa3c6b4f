"""What ``selection.json`` may name, and criteria that chose the same weights: they are tested once."""

import json
import shutil

import pytest
import torch

from drurank.errors import InputError
from drurank.run_folder.selection import alike_in_weights, read_selection
from runs import plain, read_json


def entry(folder, name, epoch, weight):
    file = folder / f"{name}.ckpt"
    made = {"method": "drurank.methods.ERM", "network": None, "sizes": None}
    torch.save({"drurank": made, "state_dict": {"w": torch.tensor(weight)}, "epoch": 0, "global_step": 1}, file)
    return {"file": file, "epoch": epoch, "value": 0.5}


def test_only_the_same_weights_are_alike(tmp_path):
    selection = {
        "worst": entry(tmp_path, "worst", 1, [1.0, 2.0]),
        "p10": entry(tmp_path, "p10", 2, [1.0, 2.0]),
        "average": entry(tmp_path, "average", 1, [1.0, 2.0]),
        "overall": entry(tmp_path, "overall", 1, [1.0, 3.0]),  # another validation of that epoch
        "tstat": entry(tmp_path, "tstat", 1, [1.0, float("nan")]),
    }
    assert alike_in_weights(selection) == [["worst", "average"], ["p10"], ["overall"], ["tstat"]]


def test_a_run_tests_the_same_weights_once_and_writes_the_report_of_each(fit, run, tmp_path, capsys):
    folder = fit(tmp_path, "--select", "qdcg10,worst,average", epochs=1)
    capsys.readouterr()
    run("test", "--run", folder)
    said = " ".join(capsys.readouterr().out.split())
    noted = read_json(folder / "selection.json")
    by = [f"{name} ({noted[name]['value']:.4f})" for name in ("qdcg10", "worst", "average")]
    assert f"best by {by[0]}, {by[1]} and {by[2]} in epoch 0" in said
    assert said.count("Written to") == 1
    reports = {name: read_json(folder / f"test/{name}/report.json") for name in noted}
    for name, report in reports.items():
        assert report["checkpoint"] == str(folder / f"checkpoints/{name}.ckpt")
        assert report["splits"] == reports["qdcg10"]["splits"]
        assert {file.name for file in (folder / "test" / name).iterdir()} >= {"groups.csv", "groups.png", "metrics.csv"}


def test_what_is_tested_apart_has_its_own_report(fit, run, tmp_path):
    folder = fit(tmp_path, "--select", "qdcg10,worst")
    file = folder / "checkpoints/worst.ckpt"
    saved = plain(file)
    saved["state_dict"] = {name: -value for name, value in saved["state_dict"].items()}
    torch.save(saved, file)
    assert alike_in_weights(read_selection(folder)) == [["qdcg10"], ["worst"]]
    run("test", "--run", folder)
    one, other = (read_json(folder / f"test/{name}/report.json") for name in ("qdcg10", "worst"))
    assert one["splits"] != other["splits"]


@pytest.fixture(scope="module")
def fitted(fit, tmp_path_factory):
    return fit(tmp_path_factory.mktemp("runs"), epochs=1)


NAMES = ["../../victim", "/victim", "qdcg10/../../../victim", "qdcg10/x", ".", "..", "", "qdcg10 ", "QDCG10", "qdcg010"]
NAMES += ["qdcg10\n", "\0", "qdcg\u0661\u0660", "qdcg+10", "qdcg1_0", "qdcg10\\x", "C:x", "x" * 300, "qdcg0", "qdcg101"]


@pytest.fixture
def noting(fitted, tmp_path):
    """Makes a copy of a run that notes one more checkpoint, by this name."""

    def make(name):
        run = shutil.copytree(fitted, tmp_path / "runs/deep/run")
        noted = read_json(run / "selection.json")
        (run / "selection.json").write_text(json.dumps({**noted, name: noted["qdcg10"]}))
        return run

    return make


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_only_criteria_are_names(noting, name):
    with pytest.raises(InputError, match=r"selection\.json: (there is no criterion|criterion .* the number must be)"):
        read_selection(noting(name))


@pytest.mark.parametrize("command", ["test", "validate", "predict"])
def test_no_folder_is_made_of_another_name(noting, refused, tmp_path, command):
    run = noting("../../../victim")
    before = sorted(tmp_path.rglob("*"))
    assert refused(command, "--run", run).startswith(f"{run / 'selection.json'}: there is no criterion '../../../vic")
    assert sorted(tmp_path.rglob("*")) == before


FILES = [
    "{outside}/checkpoints/qdcg10.ckpt",
    "../{name}/checkpoints/qdcg10.ckpt",
    "checkpoints/../../{name}/weights.csv",
]


@pytest.mark.parametrize("file", FILES)
def test_files_outside_of_the_run_are_not_read(fitted, tmp_path, file):
    run = shutil.copytree(fitted, tmp_path / "run")
    outside = shutil.copytree(fitted, tmp_path / "outside")
    noted = read_json(run / "selection.json")["qdcg10"]
    named = file.format(outside=outside, name=outside.name)
    (run / "selection.json").write_text(json.dumps({"qdcg10": {**noted, "file": named}}))
    with pytest.raises(InputError, match=r"selection\.json names .*, a file outside of the run"):
        read_selection(run)
