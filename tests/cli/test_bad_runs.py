"""Each command that cannot be run ends in one sentence, and one that cannot start leaves nothing behind."""

import errno
import importlib.util
import re
import resource
import shutil
from pathlib import Path

import pytest
import torch
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

from drurank.cli import COMMANDS, main
from drurank.data import Shortcut
from drurank.errors import InputError
from drurank.methods import DRU, ERM
from drurank.networks import MLP, Sizes
from drurank.training.losses import CrossEntropy
from runs import SMALL, plain

FIT = ["fit", "--model", "DRU", *SMALL]


@pytest.fixture(scope="module")
def done(tmp_path_factory, fit, run):
    folder = fit(tmp_path_factory.mktemp("runs"), epochs=1)
    run("test", "--run", folder)
    return folder


@pytest.fixture
def copied(done, tmp_path):
    return shutil.copytree(done, tmp_path / "copied")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*FIT, "--trainer.barebones", "true"], "leave --trainer.barebones out$"),
        ([*FIT, "--ckpt_path", "best"], "--ckpt_path best .*give a file such as <run>/checkpoints/last.ckpt$"),
        ([*FIT, "--config", "{ckpt_path: last}"], "--ckpt_path last .*give a file"),
        (["test", "--model", "DRU", *SMALL, "--ckpt_path", "best"], "--ckpt_path best .*give a file"),
        (
            [*FIT, "--trainer.accumulate_grad_batches", "0"],
            "^--trainer.accumulate_grad_batches is 0; give a whole number of 1 or more$",
        ),
        ([*FIT, "--model.cutoff", "abc"], "^--model.cutoff is 'abc'; give a number$"),
        ([*FIT, "--data.batch_size", "x"], "^--data.batch_size is 'x'; give a whole number$"),
        ([*FIT, "--data.eval_batch_size", "x"], "^--data.eval_batch_size is 'x'; give a whole number or nothing$"),
        ([*FIT, "--trainer.max_epochs", "1.5"], "^--trainer.max_epochs is '1.5'; give a whole number or nothing$"),
        ([*FIT, "--model.normalize_weights", "maybe"], "^--model.normalize_weights is 'maybe'; give true or false$"),
        (
            [*FIT, "--trainer.precision", "bf17"],
            "^--trainer.precision is 'bf17': did you mean 'bf16'.*16-mixed.*bf16-true",
        ),
        (
            [*FIT, "--trainer.logger.save_dir", "x"],
            r"^--trainer.logger.save_dir is an option of a class, but no class is given; write --trainer.logger "
            "<class> first, known: RunLogger, .*CSVLogger",
        ),
        (
            [*FIT, "--model.optimizer", "SGD", "--model.optimizer.lrr", "1"],
            r"^SGD has no option 'lrr': did you mean 'lr'\? known: lr, momentum",
        ),
        (
            [*FIT, "--model.lr_scheduler", "StepLR", "--model.lr_scheduler.gama", "1"],
            r"^StepLR has no option 'gama': did you mean 'gamma'\? known: step_size, gamma",
        ),
        ([*FIT, "--trainer.strategy", "dpp"], "the trainer cannot be created: .*strategy='dpp'.*ddp"),
        (
            [*FIT, "--trainer.strategy", "DDPStrategy", "--trainer.strategy.cluster_environment", "SLURMEnvironment"],
            "the trainer cannot be created: KeyError: 'SLURM_NODEID'; leave out the option",
        ),
        (
            [*FIT, "--trainer.callbacks", "drurank.callbacks.GroupReport"],
            "the trainer cannot be created: Found more than one stateful callback of type `GroupReport`.* leave out",
        ),
        (
            [*FIT, "--trainer.callbacks", "lightning.pytorch.serve.ServableModuleValidator"],
            r"a callback of lightning\.pytorch\.serve.* cannot be used here \(TypeError: .*; leave it out",
        ),
        (
            [*FIT[:3], "--data", "lightning.pytorch.demos.boring_classes.BoringDataModule"],
            "BoringDataModule has no sizes, which the network is made from: give BoringDataModule a property sizes",
        ),
        ([*FIT, "--trainer.devices", "x"], "the trainer cannot be created: .*devices.*int > 0"),
        ([*FIT, "--trainer.gradient_clip_algorithm", "nrm"], "gradient_clip_algorithm.*nrm.*'norm'"),
        (["fitt", *FIT[1:]], r"^there is no command 'fitt': did you mean 'fit'\? known: fit, validate, test, predict"),
        (["", *FIT[1:]], "^there is no command ''"),
    ],
)
def test_words_that_cannot_be_used(refused, tmp_path, words, said):
    assert re.search(said, refused(*words))
    assert not list(tmp_path.rglob("*"))


def test_what_a_library_refuses_is_said_in_a_sentence(refused, tmp_path):
    words = ["--trainer.callbacks+=EarlyStopping", "--trainer.callbacks.monitor", "loss_of_mine"]
    where = ["--trainer.default_root_dir", tmp_path, "--trainer.max_epochs", 1]
    assert "metric `loss_of_mine` which is not available" in refused(*FIT, *where, *words)


@pytest.mark.parametrize("content", [b"", b"[1, 2]", b"no json", b"\xe9"])
def test_damaged_selection_is_refused(refused, copied, content):
    (copied / "selection.json").write_bytes(content)
    assert "selection.json is damaged" in refused("test", "--run", copied)


@pytest.mark.parametrize("content", [b"", b"- 1", b"a: \xe9"])
def test_damaged_configuration_is_refused(refused, copied, content):
    (copied / "config.yaml").write_bytes(content)
    assert re.search(r"config\.yaml (cannot be read|is damaged)", refused("test", "--run", copied))


@pytest.mark.parametrize("keep", [100, 5000])
def test_torn_checkpoint_is_refused(refused, copied, keep):
    file = copied / "checkpoints/qdcg10.ckpt"
    file.write_bytes(file.read_bytes()[:keep])
    assert "qdcg10.ckpt is not a checkpoint of drurank" in refused("test", "--run", copied)


def test_weights_alone_are_nothing_to_go_on_from(refused, copied):
    file = copied / "checkpoints/last.ckpt"
    saved = torch.load(file, weights_only=True)
    torch.save({key: value for key, value in saved.items() if key not in ("optimizer_states", "lr_schedulers")}, file)
    assert "holds weights only" in refused("fit", "--ckpt_path", file, "--trainer.max_epochs", 3)


def test_package_that_is_not_installed_is_named(refused, tmp_path):
    if importlib.util.find_spec("comet_ml"):
        pytest.skip("Comet is installed")
    where = ["--trainer.default_root_dir", tmp_path, "--trainer.max_epochs", 1]
    assert "comet" in refused(*FIT, *where, "--trainer.logger", "CometLogger")


class Broken(CSVLogger):
    """A logger that cannot be made."""

    def __init__(self):
        raise RuntimeError("no server answers")


def test_logger_that_cannot_be_made_says_why(refused, tmp_path):
    where = ["--trainer.default_root_dir", tmp_path]
    said = refused(*FIT, *where, "--trainer.logger", "Broken")
    assert said == "Broken cannot be created: no server answers"


def test_accelerator_that_there_is_not(capsys):
    with pytest.raises(SystemExit):
        main([*FIT, "--trainer.accelerator", "gppu"])
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("error: "))
    assert re.search("the trainer cannot be created: .*accelerator='gppu'.*cpu", line)


def test_backend_that_there_is_not(refused, monkeypatch):
    for name in ("LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "")  # so that what Lightning sets does not stay
        monkeypatch.delenv(name)
    said = refused(*FIT, "--trainer.strategy", "DDPStrategy", "--trainer.strategy.process_group_backend", "nccl")
    assert said.startswith("the strategy cannot be used here (")
    assert said.endswith("; give another one as --trainer.strategy")


def test_commands_that_do_not_train_are_among_those_known(refused, monkeypatch):
    monkeypatch.setitem(COMMANDS, "compare", "nowhere:run")
    said = "there is no command 'comprae': did you mean 'compare'? known: fit, validate, test, predict, "
    assert refused("comprae").startswith(said)


# ---- data that the method cannot use


def write_table(folder, group, name="t.csv"):
    rows = [f"{i},{'ab'[i % 3 == 0]},{group(i)},{'train' if i < 12 else 'val'}" for i in range(18)]
    (folder / name).write_text("\n".join(["x,label,group,split", *rows]) + "\n", encoding="utf-8")
    words = ["--data", "Table", "--data.path", str(folder / name), "--data.label", "label", "--data.split", "split"]
    return [*words, "--data.group", "group"]


@pytest.mark.parametrize("method", ["DRU", "Worst"])
def test_one_group_is_nothing_to_rank(refused, tmp_path, method):
    words = write_table(tmp_path, lambda i: "all")
    said = f"{method} ranks groups and there is only one; name the group column, or use ERM or Const"
    assert refused("fit", "--model", method, *words) == said
    assert not (tmp_path / "runs").exists()


def test_a_row_without_a_group_cannot_be_ranked(refused, tmp_path):
    words = [*write_table(tmp_path, lambda i: "abc"[i % 3] if i else ""), "--data.group_in", "eval"]
    assert refused("fit", "--model", "DRU", *words) == (
        "DRU needs the group of every row it trains on, and some have none; use ERM, Const, JTT, CVaR or ChiSquare"
    )
    assert not (tmp_path / "runs").exists()


def test_one_group_is_no_hindrance_to_others(run, tmp_path):
    run("fit", "--model", "ERM", *write_table(tmp_path, lambda i: "all"), "--trainer.max_epochs", "1")
    assert (tmp_path / "runs" / "version_0" / "selection.json").is_file()


@pytest.mark.parametrize("command", ["validate", "test", "predict"])
def test_evaluation_that_fails_on_its_data_leaves_no_folder(run, refused, tmp_path, command):
    words = write_table(tmp_path, lambda i: "abc"[i % 3])
    run("fit", "--model", "ERM", *words, "--trainer.max_epochs", "1")
    before = contents(tmp_path / "runs")
    (tmp_path / "bad.csv").write_text("x,label,group,split\n1,c,a,val\n2,c,a,test\n", encoding="utf-8")
    checkpoint = tmp_path / "runs/version_0/checkpoints/last.ckpt"
    said = refused(command, "--ckpt_path", checkpoint, "--data.path", tmp_path / "bad.csv")
    assert "bad.csv: column 'label', row " in said
    assert "'c' is a label that training lacks" in said
    assert contents(tmp_path / "runs") == before
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["version_0"]


def test_loader_without_groups_is_nothing_to_predict(trainer):
    fitted = trainer()
    fitted.fit(ERM(), datamodule=Shortcut(groups=[4, 3, 3], group_size=6))
    plain = DataLoader(TensorDataset(torch.zeros(4, 2), torch.zeros(4)), batch_size=2)
    with pytest.raises(InputError, match=r"reads a TensorDataset, of whose rows no group and no index is known; wrap"):
        fitted.predict(fitted.lightning_module, plain)


@pytest.mark.parametrize("options", [{"max_epochs": 0}, {"max_steps": 0}, {"limit_train_batches": 0}])
def test_training_nothing_is_refused(trainer, options):
    with pytest.raises(InputError, match=f"{next(iter(options))} is 0, with which nothing is trained"):
        trainer(**options).fit(ERM(), datamodule=Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16))


@pytest.mark.parametrize("every", [1, 4])
def test_network_that_became_nan_is_never_saved(trainer, tmp_path, every):
    # The first step is finite in its loss and overflows the weights.
    keep = ModelCheckpoint(dirpath=tmp_path, save_top_k=-1, every_n_train_steps=every)
    best = ModelCheckpoint(dirpath=tmp_path, monitor="val_overall", mode="max")
    run = trainer(callbacks=[keep, best], enable_checkpointing=True, limit_train_batches=every)

    class Steep(CrossEntropy):
        def forward(self, logits, label):
            return super().forward(logits, label) * 1e20

    method = ERM(loss=Steep(), optimizer=lambda params: torch.optim.SGD(params, lr=1e30))
    with pytest.raises(InputError, match="nan or inf in epoch 0"):
        run.fit(method, datamodule=Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16))
    assert list(tmp_path.glob("*.ckpt")) == []


def test_frozen_network_has_nothing_to_train(trainer):
    network = MLP(Sizes(2, 2)).requires_grad_(False)
    with pytest.raises(InputError, match="requires a gradient"):
        trainer().fit(ERM(network=network), datamodule=Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16))


def test_accumulating_nothing_is_refused_in_python_too():
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(accelerator="cpu", accumulate_grad_batches=0, **quiet)
    with pytest.raises(InputError, match="accumulate_grad_batches is 0"):
        trainer.fit(DRU(), datamodule=Shortcut(groups=[4, 3, 3], group_size=6))


# ---- going on with other options


def test_options_that_differ_from_those_of_the_checkpoint_are_said(run, copied):
    words = ["--ckpt_path", copied / "checkpoints/last.ckpt", "--trainer.max_epochs", "2"]
    with pytest.warns(UserWarning, match="the checkpoint was made with") as caught:
        run("fit", *words, "--model.cutoff", "20", "--model.upweight", "all")
    said = [str(one.message) for one in caught if "made with" in str(one.message)]
    assert said == [
        "the checkpoint was made with upweight='misclassified', cutoff=100.0; the run goes on with upweight='all', "
        "cutoff=20.0, as given now"
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--model.optimizer", "AdamW", "--model.optimizer.lr", 0.5],
            "made with optimizer AdamW(lr=0.001), this run's is AdamW(lr=0.5); a resumed run keeps its own",
        ),
        (
            ["--model.optimizer", "SGD", "--model.optimizer.lr", 0.5],
            "this run's is SGD(lr=0.5, momentum=0",
        ),
        (
            ["--model.lr_scheduler", "LinearDecay"],
            "made with --model.lr_scheduler constant(), this run's is LinearDecay(",
        ),
    ],
)
def test_another_optimizer_or_schedule_is_refused_on_resume(refused, copied, words, said):
    checkpoint = copied / "checkpoints/last.ckpt"
    before = (copied / "weights.csv").read_bytes()
    assert said in refused("fit", "--ckpt_path", checkpoint, *words, "--trainer.max_epochs", 2)
    assert (copied / "weights.csv").read_bytes() == before


@pytest.mark.parametrize(
    "make", [lambda params: torch.optim.SGD(params, lr=0.01), lambda params: torch.optim.Adam(params, lr=0.5)]
)
def test_another_optimizer_object_is_refused_on_resume(trainer, tmp_path, make):
    data = Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16)
    first = trainer(enable_checkpointing=True, default_root_dir=tmp_path)
    first.fit(ERM(optimizer=lambda params: torch.optim.SGD(params, lr=0.5)), datamodule=data)
    with pytest.raises(InputError, match=r"made with SGD\(lr=0.5, .*this run has .*a resumed run keeps its own"):
        trainer(max_epochs=2).fit(
            ERM(optimizer=make), datamodule=data, ckpt_path=first.checkpoint_callback.best_model_path
        )


@pytest.mark.parametrize(
    ("words", "now"),
    [
        (["--data.batch_size", 8], "8 rows by shuffle"),
        (["--data.sampler", "balanced"], "16 rows by balanced"),
        (["--data.sampler", "groups_per_batch"], "16 rows by groups_per_batch of 2 groups"),
    ],
)
def test_other_batches_than_those_of_the_checkpoint_are_said(run, copied, words, now):
    with pytest.warns(UserWarning, match=f"drew batches of 16 rows by shuffle; this one goes on with {now}") as said:
        run("fit", "--ckpt_path", copied / "checkpoints/last.ckpt", *words, "--trainer.max_epochs", 2)
    assert not any("written within epoch" in str(warning.message) for warning in said)


def test_options_that_are_those_of_the_checkpoint_are_no_news(run, copied, recwarn):
    run("fit", "--ckpt_path", copied / "checkpoints/last.ckpt", "--trainer.max_epochs", "2", "--model.cutoff", "100")
    assert not [one for one in recwarn if "made with" in str(one.message)]


# ---- folders and disks that cannot be written to


def test_folder_below_a_file(refused, tmp_path):
    (tmp_path / "taken").write_text("")
    said = refused(*FIT, "--trainer.default_root_dir", tmp_path / "taken" / "runs")
    assert said.startswith(f"{tmp_path}/taken/runs")
    assert said.endswith("cannot be used: Not a directory; give another path, or fix its permissions")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_folder_without_permission(refused, tmp_path, monkeypatch):
    made = Path.mkdir

    def mkdir(self, *args, **kwargs):
        if self.name == "version_0":
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        made(self, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    said = refused(*FIT, "--trainer.default_root_dir", tmp_path / "closed")
    assert said == (
        f"{tmp_path}/closed/version_0 cannot be used: Permission denied; give another path, or fix its permissions"
    )


@pytest.fixture
def full(monkeypatch):
    """A disk on which no file can be finished but the configuration and the metrics."""
    replaced = Path.replace

    def replace(self, target):
        if Path(target).name in ("config.yaml", "hparams.yaml", "metrics.csv"):
            return replaced(self, target)
        raise OSError(errno.ENOSPC, "No space left on device")

    def begin():
        monkeypatch.setattr(Path, "replace", replace)

    return begin


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["test", "--run", "{run}"], "{run}/test/qdcg10/groups.csv"),
        (["predict", "--ckpt_path", "{run}/checkpoints/last.ckpt"], "{root}/version_0/predictions.parquet"),
        (
            ["fit", "--ckpt_path", "{run}/checkpoints/last.ckpt", "--trainer.max_epochs", "3"],
            r"{run}/(weights.csv|checkpoints/\w+.ckpt)",
        ),
    ],
)
def test_full_disk_is_said_and_spares_what_was_there(refused, copied, tmp_path, full, words, file):
    root = tmp_path / "new"
    before = contents(copied)
    full()
    words = [word.format(run=copied, root=root) for word in words]
    said = refused(*words, "--trainer.default_root_dir", root)
    file = file.format(run=copied, root=root)
    assert re.fullmatch(
        rf"no space left to write {file} \(No space left on device\); free some space and run it again", said
    )
    after = contents(copied)
    changed = {path.name for path in before | after if before.get(path) != after.get(path)}
    assert changed <= {"metrics.csv", "config.yaml", "hparams.yaml"}


def test_checkpoint_that_cannot_be_finished_leaves_the_old_one(refused, copied):
    """By a limit of the system on the size of files, under what a checkpoint takes."""
    before = contents(copied / "checkpoints")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
    try:
        said = refused("fit", "--ckpt_path", copied / "checkpoints/last.ckpt", "--trainer.max_epochs", "3")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert re.fullmatch(
        rf"no space left to write {copied}/checkpoints/\w+\.ckpt \(File too large\); free some space and run it again",
        said,
    )
    assert contents(copied / "checkpoints") == before
    assert all(len(content) > 60_000 for content in before.values())


def test_an_error_that_is_of_no_file_is_no_sentence(monkeypatch):
    def fail(words):
        raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")

    monkeypatch.setattr("drurank.cli.training.run", fail)
    with pytest.raises(ConnectionResetError):
        main(["fit"])


def test_a_resume_that_is_over_is_refused_and_leaves_the_run_as_it_was(refused, copied):
    before = contents(copied)
    resume = ["fit", "--ckpt_path", copied / "checkpoints/last.ckpt"]
    file = copied / "checkpoints/last.ckpt"
    saved = plain(file)
    saved.pop("drurank_written")
    torch.save({**saved, "epoch": 7}, file)
    said = refused(*resume, "--trainer.max_epochs", 3)
    assert said.endswith("last.ckpt is of epoch 7, and --trainer.max_epochs is 3; give --trainer.max_epochs 9")
    assert contents(copied) == {**before, file: file.read_bytes()}


def test_a_folder_that_is_no_run_is_told_which_are(refused):
    for name in ("runs/version_0", "runs/version_1", "best"):
        Path(name).mkdir(parents=True)
        Path(name, "config.yaml").write_text("{}")
    assert refused("test", "--run", "bset") == (
        "there is no folder bset; did you mean best? give the folder of a run that `fit` made"
    )
    assert refused("test", "--run", "else").startswith("there is no folder else; give the folder of a run")
    assert refused("test", "--run", "runs") == (
        "runs holds 2 runs, and is no run itself; give one of them, as runs/version_1"
    )


def test_the_file_of_a_study_is_no_configuration_of_a_fit(refused):
    Path("s.yaml").write_text("candidates: [{model: ERM}]\nseeds: [0, 1]\n")
    said = refused("fit", "--config", "s.yaml", "--model", "ERM")
    assert said == (
        "--config s.yaml is the file of a study, since it has candidates; run it by `study run --config s.yaml "
        "--output FOLDER`"
    )
