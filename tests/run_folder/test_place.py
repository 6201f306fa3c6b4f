from pathlib import Path
from types import SimpleNamespace

import pytest
from lightning.pytorch.callbacks import LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.loggers.logger import DummyLogger

from drurank.callbacks import GroupHistory, GroupReport, best_by
from drurank.errors import InputError
from drurank.methods import DRU
from drurank.run_folder.place import claim, run_folder
from drurank.run_folder.selection import read_selection
from fits import network, small
from runs import read_csv, read_json


class Own(DummyLogger):
    """A logger of another kind; of its own files it has none."""

    def __init__(self, save_dir=None, name="", version=None):
        super().__init__()
        self.where = save_dir, name, version

    save_dir, name, version = (property(lambda self, place=place: self.where[place]) for place in range(3))


def fit(trainer, *, ckpt_path=None, dirpath=None, **options):
    callbacks = [*best_by("worst", dirpath), GroupHistory(), GroupReport(), *options.pop("callbacks", [])]
    run = trainer(callbacks=callbacks, enable_checkpointing=True, **options)
    run.fit(DRU(network=network()), datamodule=small(), ckpt_path=ckpt_path)
    return run, callbacks[0]


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("make", "folders"),
    [
        (lambda: False, ["version_0", "version_1"]),
        (lambda: Own("logs", "mine", "7"), ["logs/mine/7", "logs/mine/7-2"]),
        (lambda: Own("logs"), ["logs/version_0", "logs/version_1"]),
    ],
    ids=["none", "one id for all", "no id"],
)
def test_runs_never_share_a_folder(trainer, make, folders):
    first, second = map(Path, folders)
    fit(trainer, logger=make())
    before = content(first)
    assert {Path("weights.csv"), Path("selection.json"), Path("checkpoints/worst.ckpt")} <= before.keys()
    run, best = fit(trainer, logger=make())
    assert content(first) == before
    assert content(second).keys() == before.keys()
    assert Path(best.best_model_path).samefile(second / "checkpoints/worst.ckpt")
    run.test(datamodule=run.datamodule, ckpt_path=best.best_model_path, verbose=False)
    assert (second / "report.json").is_file(), "a test goes into the folder of the trainer's run"


def test_what_is_resumed_goes_on_in_its_folder_with_its_bests(trainer):
    fit(trainer, max_epochs=2)
    before = read_json("version_0/selection.json")
    run, best = fit(trainer, max_epochs=3, ckpt_path="version_0/checkpoints/last.ckpt")
    assert run_folder(run) == Path("version_0")
    assert not Path("version_1").exists()
    assert Path(best.best_model_path).samefile("version_0/checkpoints/worst.ckpt")
    after = read_json("version_0/selection.json")
    assert after["worst"]["value"] >= before["worst"]["value"]
    assert [row["epoch"] for row in read_csv("version_0/weights.csv")] == [str(e) for e in range(4) for _ in range(6)]


def test_a_folder_that_is_given_holds_checkpoints_and_selection(trainer, tmp_path):
    fit(trainer, dirpath="files")
    assert sorted(path.name for path in Path("files").iterdir()) == ["last.ckpt", "selection.json", "worst.ckpt"]
    assert read_selection(tmp_path / "files")["worst"]["file"] == tmp_path / "files/worst.ckpt"
    before = content(Path("files"))
    with pytest.raises(InputError, match=r"^dirpath='.*files' holds the checkpoints of another run; give another one"):
        fit(trainer, dirpath="files")
    assert content(Path("files")) == before
    fit(trainer, dirpath="files", ckpt_path="files/last.ckpt", max_epochs=2)


def test_what_is_asked_of_a_logger_is_kept(trainer):
    logger = CSVLogger("logs", name="mine", version="first")
    rates = LearningRateMonitor(logging_interval="step")
    run, _ = fit(trainer, logger=logger, log_every_n_steps=2, max_epochs=2, callbacks=[rates])
    assert run_folder(run) == Path("logs/mine/first")
    assert [row["step"] for row in read_csv("logs/mine/first/metrics.csv") if "lr-AdamW" in row] == ["1", "3", "5", "7"]


class Process:
    """What is asked of a trainer."""

    ckpt_path, default_root_dir = None, "root"
    strategy = SimpleNamespace(broadcast=lambda found: "of the first" if found is None else found)

    def __init__(self, rank, command, logger):
        self.is_global_zero, self.state, self.logger = rank == 0, SimpleNamespace(fn=command), logger


def test_every_process_has_the_folder_of_the_first():
    assert run_folder(Process(1, "fit", Own("logs", "mine", "another process's"))) == Path("of the first")
    assert not Path("logs").exists()


def test_a_version_that_is_a_number_is_called_so():
    assert run_folder(Process(0, "test", Own("logs", "mine", 7))) == Path("logs/mine/version_7")


def test_files_are_kept_here_where_a_logger_has_its_own_elsewhere():
    assert run_folder(Process(0, "test", Own("s3://bucket/logs", "mine", "7"))) == Path("root/mine/7")


def test_processes_that_start_at_once_claim_different_folders(tmp_path):
    assert [claim(tmp_path).name for _ in range(3)] == ["version_0", "version_1", "version_2"]
