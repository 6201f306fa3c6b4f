"""The command line under torchrun: two processes, and two nodes of one process each, leave the files of one process."""

import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import torch

from runs import QUIET, ROOT, assert_same_logged, read_csv, read_json
from warm import Program, free_port, wait_for_all

LIMIT = 120
GROUPS = ["north", "süd", "est", "ouest", "5", "six"]
TOLD_BY_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "PL_GLOBAL_SEED")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """61 rows of training in six groups, named as words, and 30 each of validation and test in other ones."""
    draw = np.random.default_rng(3)
    lines = ["x,y,label,group,split"]
    for split, rows, names in (
        ("train", 61, GROUPS),
        ("ood_val", 30, ["a", "b", "c"]),
        ("ood_test", 30, ["d", "e", "f"]),
    ):
        for row in range(rows):
            x, y = draw.normal(size=2)
            label = int(x + 0.5 * y + 0.8 * draw.normal() > 0)
            lines.append(f"{x:.4f},{y:.4f},{'yes' if label else 'no'},{names[row % len(names)]},{split}")
    file = tmp_path_factory.mktemp("table") / "rows.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def words_of(table, folder, processes):
    data = ["--data", "Table", "--data.path", table, "--data.label", "label", "--data.group", "group"]
    data += ["--data.split", "split", "--data.batch_size", 12 // processes]
    model = ["--model", "DRU", "--model.network", "MLP", "--model.network.dropout", 0]
    model += ["--model.optimizer", "AdamW", "--model.optimizer.lr", 0.01]
    where = ["--trainer.default_root_dir", folder, "--trainer.max_epochs", 3, "--select", "worst,qdcg10"]
    return list(map(str, [*model, *data, *where]))


def torchrun(folder, *nodes):
    """Start torchrun once for each of ``nodes``, at once, and wait for all to end well."""
    environment = {name: value for name, value in os.environ.items() if name not in TOLD_BY_TORCHRUN}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    logs = [folder / f"log_{number}" for number in range(len(nodes))]
    with ExitStack() as stack:
        started = [
            stack.enter_context(Program(["-m", "torch.distributed.run", *words], log, folder, environment))
            for words, log in zip(nodes, logs, strict=True)
        ]
        codes = wait_for_all(started, LIMIT)
    assert set(codes) == {0}, "\n".join(log.read_text() for log in logs)


@pytest.fixture(scope="module")
def alone(run, table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    run("fit", *words_of(table, folder, 1))
    return folder / "version_0"


SAYS_ITS_THREADS = """
import atexit, os, pathlib
from drurank.cli import main

def write_threads():
    if not pathlib.Path("/proc/self/task").is_dir():
        return
    names = [file.read_text().strip() for file in pathlib.Path("/proc/self/task").glob("*/comm")]
    pathlib.Path(f"threads_{os.environ['RANK']}").write_text("\\n".join(names))

atexit.register(write_threads)
main()
"""


@pytest.fixture(scope="module")
def processes(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    script = folder / "fit.py"
    script.write_text(SAYS_ITS_THREADS)
    fit = [str(script), "fit", *words_of(table, folder, 2), *QUIET]
    parallel = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
    torchrun(folder, ["--standalone", "--nproc_per_node", "2", *fit, *parallel])
    return folder


@pytest.fixture(scope="module")
def nodes(table, tmp_path_factory):
    """Two nodes that see the same folder, as on a cluster."""
    folder = tmp_path_factory.mktemp("nodes")
    meet = ["--nnodes", "2", "--nproc_per_node", "1", "--master_addr", "127.0.0.1", "--master_port", free_port()]
    fit = [str(ROOT / "cli.py"), "fit", *words_of(table, folder, 2), *QUIET]
    parallel = ["--trainer.num_nodes", "2", "--trainer.devices", "1"]
    torchrun(folder, *([*meet, "--node_rank", str(number), *fit, *parallel] for number in (0, 1)))
    return folder


@pytest.fixture(params=["processes", "nodes"])
def many(request):
    """The folder in which two processes ran."""
    return request.getfixturevalue(request.param)


def validated(folder):
    rows = [row for row in read_csv(folder / "metrics.csv") if "val_worst" in row]
    return [{name: cell for name, cell in row.items() if name.startswith("val_")} for row in rows]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads the names of threads from /proc")
def test_no_thread_of_the_group_outlives_a_fit(processes):
    """One that frees a tensor while Python ends would abort the process, once in some hundred runs."""
    for rank in (0, 1):
        names = (processes / f"threads_{rank}").read_text().splitlines()
        assert any("elastic" in name or "python" in name for name in names)
        assert not [name for name in names if "gloo" in name]


def test_one_folder_is_made(many):
    assert [path.name for path in many.glob("version_*")] == ["version_0"]


def test_figures_and_tables_are_those_of_one_process(alone, many):
    assert len(validated(alone)) == 3
    assert_same_logged(validated(many / "version_0"), validated(alone))
    assert {row["group"] for row in read_csv(alone / "weights.csv")} == set(GROUPS)
    assert read_csv(many / "version_0/weights.csv") == read_csv(alone / "weights.csv")
    assert read_json(many / "version_0/selection.json") == read_json(alone / "selection.json")


def test_checkpoint_is_that_of_one_process(alone, many):
    ours, theirs = (
        torch.load(folder / "checkpoints/last.ckpt", weights_only=True) for folder in (many / "version_0", alone)
    )
    should = theirs["drurank"]["training"]
    assert len(set(should["state"]["weight"].tolist())) > 2
    for kept in ("state", "record"):
        for name, value in should[kept].items():
            torch.testing.assert_close(ours["drurank"]["training"][kept][name], value, rtol=0, atol=0)
    assert ours["drurank"]["training"]["fingerprint"] == should["fingerprint"]
    for name, value in theirs["state_dict"].items():
        torch.testing.assert_close(ours["state_dict"][name], value, rtol=0, atol=1e-5)
