"""A run resumed from an epoch's end is the uninterrupted one, bit for bit, for every method and trainer flag."""

import shutil

import pytest
import torch
from lightning.pytorch import seed_everything
from lightning.pytorch.callbacks import EarlyStopping, EMAWeightAveraging, ModelCheckpoint

from drurank import methods
from drurank.callbacks.selection import BestByCriterion
from drurank.data import Shortcut
from drurank.methods import DRU, JTT, GroupDRO

EPOCHS = 4
METHODS = {name: getattr(methods, name) for name in methods.__all__ if name != "GroupModule"}
METHODS["JTT"] = lambda **options: JTT(first_stage_epochs=2, **options)
METHODS["GroupDRO sagawa"] = lambda **options: GroupDRO("sagawa", generalization_adjustment=2, **options)


def everything_of(method, run):
    """All that training has made, by name."""
    made = {**method.state_dict(), **method.state, "correct": method.record.correct}
    for number, state in run.optimizers[0].state_dict()["state"].items():
        made |= {f"{number}.{name}": value for name, value in state.items()}
    made |= {name: value for name, value in run.callback_metrics.items() if name.startswith("val_")}
    made["rng"] = torch.get_rng_state()
    return made


def fit(trainer, folder, make, *callbacks, workers=0, ckpt_path=None, **options):
    seed_everything(0, verbose=False)
    torch.rand(17 if ckpt_path else 0)  # a new process has drawn other random numbers
    keep = ModelCheckpoint(dirpath=folder, filename="{epoch}", save_top_k=-1, enable_version_counter=False)
    best = BestByCriterion("qdcg10", folder / "best")  # Lightning's forgets its best in another folder
    run = trainer(
        max_epochs=EPOCHS,
        callbacks=[*(make_one() for make_one in callbacks), best, keep],
        enable_checkpointing=True,
        **options,
    )
    method = make()
    data = Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16, num_workers=workers)
    run.fit(method, datamodule=data, ckpt_path=ckpt_path)
    return {**everything_of(method, run), "best": best.best_model_score}


def assert_resumed_is_whole(trainer, folder, make, *callbacks, most=3, **options):
    whole = fit(trainer, folder, make, *callbacks, **options)
    files = sorted(folder.glob("epoch=*.ckpt"))[:-1][:most]
    assert files
    shutil.copytree(folder / "best", folder / "again/best")  # a run's folder is moved with its best checkpoint
    for file in files:
        resumed = fit(trainer, folder / "again", make, *callbacks, ckpt_path=file, **options)
        assert resumed.keys() == whole.keys()
        for name, value in whole.items():
            same = torch.equal(resumed[name], value) if isinstance(value, torch.Tensor) else resumed[name] == value
            assert same, (file.name, name)


@pytest.mark.parametrize("name", METHODS)
def test_every_method(trainer, tmp_path, name):
    assert_resumed_is_whole(trainer, tmp_path, METHODS[name])


@pytest.mark.parametrize("name", ["DRU", "JTT", "GroupDRO", "IRM"])
def test_every_order_of_rows_with_loader_workers(trainer, tmp_path, name):
    """Workers begin to read before Lightning tells the sampler its epoch."""
    assert_resumed_is_whole(trainer, tmp_path, METHODS[name], workers=2, most=2)


FLAGS = {
    "half of the validations": {"val_check_interval": 0.5},
    "every second validation": {"check_val_every_n_epoch": 2},
    "some batches": {"limit_train_batches": 3},
    "a share of batches": {"limit_train_batches": 0.5},
    "accumulation": {"accumulate_grad_batches": 3},
    "loaders anew": {"reload_dataloaders_every_n_epochs": 1},
    "clipping": {"gradient_clip_val": 0.1},
    "no sanity check": {"num_sanity_val_steps": 0},
    "a limit of steps": {"max_steps": 10**6},
    "bf16": {"precision": "bf16-mixed"},
}


@pytest.mark.filterwarnings("ignore:epoch . gave no predictions")
@pytest.mark.parametrize(
    ("method", "flag"),
    [
        *(("JTT", flag) for flag in FLAGS),
        *(("DRU", flag) for flag in ("a share of batches", "clipping", "a limit of steps", "bf16")),
    ],
)
def test_every_flag(trainer, tmp_path, method, flag):
    """DRU goes on with the other flags in tests/training/test_resume.py."""
    assert_resumed_is_whole(trainer, tmp_path, METHODS[method], most=2, **FLAGS[flag])


CALLBACKS = {
    "EarlyStopping": lambda: EarlyStopping("val_qdcg10", patience=1),
    "EMAWeightAveraging": EMAWeightAveraging,
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_callbacks(trainer, tmp_path, name):
    assert_resumed_is_whole(trainer, tmp_path, DRU, CALLBACKS[name])
