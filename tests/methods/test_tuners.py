"""A run that a tuner of Lightning precedes, or interrupts, is the one that there would have been without it."""

import warnings
from functools import partial

import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.callbacks import BatchSizeFinder, LearningRateFinder
from lightning.pytorch.tuner import Tuner

from drurank import methods
from drurank.data import Shortcut
from drurank.errors import InputError
from drurank.methods import DRU, ERM, JTT
from drurank.networks import MLP
from drurank.training.schedules import LinearDecay
from runs import plain, read_csv, read_json, same

METHODS = {name: getattr(methods, name) for name in methods.__all__ if name != "GroupModule"}
METHODS["DFR"] = partial(METHODS["DFR"], subsets=2)
WORDS = {"JTT": [], "DFR": ["--model.subsets", 2]}
ALONE = {}
"""What a method makes without a search, by its name."""

# What a search leaves out of an epoch says nothing of the run.
pytestmark = pytest.mark.filterwarnings("error:.*gave no predictions")


@pytest.fixture(autouse=True)
def without_collection(monkeypatch):
    """Lightning collects garbage before each batch size, which takes longer than all else here."""
    monkeypatch.setattr("lightning.pytorch.tuner.batch_size_scaling.garbage_collection_cuda", lambda: None)


class RatesAtEpochs(LearningRateFinder):
    """Searches within the run, as Lightning's documentation shows it."""

    def on_fit_start(self, *args):
        return

    def on_train_epoch_start(self, trainer, module):
        if trainer.current_epoch in (1, 2):
            self.lr_find(trainer, module)


class SizesAtEpochs(BatchSizeFinder):
    def on_fit_start(self, *args):
        return

    def on_train_epoch_start(self, trainer, module):
        self.scale_batch_size(trainer, module)


LONG = {"num_training_steps": 11, "update_attr": False, "early_stop_threshold": None}  # the third of three epochs
SIZES = {"init_val": 8, "max_trials": 2}  # ends at 16, the size of the run without it
SEARCHES = {
    "rate": lambda: LearningRateFinder(**LONG),
    "rate within the run": lambda: RatesAtEpochs(**LONG),
    "size": lambda: BatchSizeFinder(**SIZES),
    "size by bisection": lambda: BatchSizeFinder("binsearch", margin=0, **SIZES),
}
SELECT = ["--select", "worst", "--seed_everything", 1]
TUNERS = {
    "rate": lambda tuner, **run: tuner.lr_find(**run, num_training=11, update_attr=False, early_stop_threshold=None),
    "size": lambda tuner, **run: tuner.scale_batch_size(**run, **SIZES),
    "size by bisection": lambda tuner, **run: tuner.scale_batch_size(**run, mode="binsearch", margin=0, **SIZES),
}


class Watch(Callback):
    """Notes epoch, step, rows and their weights of each batch."""

    def __init__(self):
        self.seen = []

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        weight = module.state["weight"][batch["index"]]
        self.seen.append((trainer.current_epoch, trainer.global_step, batch["index"].tolist(), weight.tolist()))


def fit(trainer, make, *callbacks, tune=None, epochs=3, **options):
    seed_everything(2, verbose=False)
    watch, method, data = Watch(), make(**options), Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16)
    run = trainer(max_epochs=epochs, callbacks=[watch, *callbacks])
    if tune is not None:
        tune(Tuner(run), model=method, datamodule=data)
        assert not watch.seen, "the search is not part of the run"
    run.fit(method, datamodule=data)
    figures = {name: float(value) for name, value in run.callback_metrics.items()}
    return {**method.state_dict(), **method.state, "correct": method.record.correct}, watch.seen, figures


def alone(trainer, name):
    if name not in ALONE:
        ALONE[name] = fit(trainer, METHODS[name])
    return ALONE[name]


def assert_same(one, other):
    for mine, theirs in zip(one, other, strict=True):
        assert same(mine, theirs)


@pytest.mark.parametrize(
    ("name", "search"),
    [
        *((name, "rate") for name in METHODS),
        *((name, search) for name in ("DRU", "JTT", "DFR") for search in list(SEARCHES)[1:]),
        *((name, "size") for name in METHODS if name not in ("DRU", "JTT", "DFR")),
    ],
)
def test_callback_leaves_the_run_as_it_is(trainer, name, search):
    assert_same(fit(trainer, METHODS[name], SEARCHES[search]()), alone(trainer, name))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("name", ["DRU", "JTT", "GroupDRO"])
def test_two_searches_one_after_the_other_leave_the_run_as_it_is(trainer, name, order):
    searches = [SEARCHES["rate"](), SEARCHES["size"]()][::order]
    assert_same(fit(trainer, METHODS[name], *searches), alone(trainer, name))


@pytest.mark.parametrize("search", TUNERS)
@pytest.mark.parametrize("name", ["JTT", "DFR"])
def test_tuner_leaves_the_fit_after_it_as_it_is(trainer, name, search):
    assert_same(fit(trainer, METHODS[name], tune=TUNERS[search]), alone(trainer, name))


@pytest.mark.parametrize("search", ["rate within the run", "size"])
def test_schedule_ends_with_the_run_and_not_with_the_search(trainer, search):
    options = {"lr_scheduler": LinearDecay, "lr_interval": "step"}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = fit(trainer, JTT, SEARCHES[search](), **options)
    assert not any("was to end after" in str(warning.message) for warning in said)
    assert_same(found, fit(trainer, JTT, **options))


def test_second_fit_of_a_method_begins_with_weights_of_1(trainer):
    """A search saves and restores what it finds, which must not be the tables of the fit before."""
    torch.manual_seed(2)
    method, data, watch = DRU(), Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16), Watch()
    trainer(max_epochs=2).fit(method, datamodule=data)
    assert method.state["weight"].max() > 1
    trainer(callbacks=[watch, LearningRateFinder(**LONG)]).fit(method, datamodule=data)
    assert {weight for *_, weights in watch.seen for weight in weights} == {1}


class Rated:
    """A rate of its own, which a search may set."""

    def __init__(self, lr=1e-3, **options):
        super().__init__(network=lambda sizes: MLP(sizes, hidden=4), **options)
        self.lr = lr

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


class RatedJTT(Rated, JTT):
    pass


class RatedDRU(Rated, DRU):
    pass


class Rates(Callback):
    def __init__(self):
        self.rates = []

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        self.rates.append(trainer.optimizers[0].param_groups[0]["lr"])


@pytest.mark.parametrize("make", [RatedDRU, RatedJTT])
def test_rate_that_is_found_is_used_in_all_epochs(trainer, make):
    rates, finder = Rates(), LearningRateFinder(num_training_steps=20, early_stop_threshold=None)
    method = make()
    run = trainer(max_epochs=8, callbacks=[rates, finder])
    run.fit(method, datamodule=Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16))
    assert method.lr == finder.optimal_lr.suggestion() != 1e-3
    assert rates.rates == [method.lr] * 32


def test_tuner_finds_a_rate(trainer):
    data = Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16)
    found = Tuner(trainer(max_epochs=2)).lr_find(RatedDRU(), datamodule=data, num_training=8, update_attr=False)
    assert len(found.results["lr"]) == 8


@pytest.mark.parametrize(
    ("callback", "options", "said"),
    [
        (LearningRateFinder, {}, "LearningRateFinder would set lr or learning_rate, which ERM does not have; give upd"),
        (lambda: LearningRateFinder(attr_name="rate"), {}, "would set rate, which ERM does not have"),
        (
            lambda: LearningRateFinder(attr_name="min_count"),
            {"lr_scheduler": LinearDecay},
            "would be overwritten by the lr_scheduler",
        ),
        (SizesAtEpochs, {}, "SizesAtEpochs has an on_train_epoch_start.*search in on_fit_start"),
    ],
)
def test_search_without_a_use_is_refused_at_the_start(trainer, callback, options, said):
    with pytest.raises(InputError, match=said):
        fit(trainer, ERM, callback(), **options)


@pytest.mark.parametrize("search", ["rate", "size"])
def test_search_before_a_resume_is_refused(trainer, tmp_path, search):
    run, data = trainer(), Shortcut(groups=[6, 4, 4], group_size=10, batch_size=16)
    run.fit(DRU(), datamodule=data)
    run.save_checkpoint(tmp_path / "a.ckpt")
    with pytest.raises(InputError, match="search at the start of a new run, and this one resumes"):
        trainer(max_epochs=2, callbacks=[SEARCHES[search]()]).fit(DRU(), datamodule=data, ckpt_path=tmp_path / "a.ckpt")


def of_callback(option, value):
    return [f"--trainer.callbacks.{option}", value]


@pytest.fixture(scope="module")
def fit_alone(fit, tmp_path_factory):
    """Folders of runs without a search."""
    return {name: fit(tmp_path_factory.mktemp(name), *SELECT, *WORDS[name], method=name) for name in WORDS}


@pytest.mark.parametrize("name", ["JTT", "DFR"])
@pytest.mark.parametrize(
    "words",
    [
        ["LearningRateFinder", *of_callback("update_attr", "false"), *of_callback("num_training_steps", 11)],
        ["BatchSizeFinder", *of_callback("init_val", 8), *of_callback("max_trials", 2)],
    ],
    ids=lambda words: words[0],
)
def test_files_of_a_run_are_those_without_a_search(fit_alone, fit, tmp_path, name, words):
    found = fit(tmp_path, *SELECT, *WORDS[name], "--trainer.callbacks", *words, method=name)
    for table in ("metrics.csv", "weights.csv"):
        assert read_csv(found / table) == read_csv(fit_alone[name] / table), table
    assert read_json(found / "selection.json") == read_json(fit_alone[name] / "selection.json")
    one, other = (plain(folder / "checkpoints/last.ckpt") for folder in (found, fit_alone[name]))
    for key in ("epoch", "global_step", "state_dict", "optimizer_states", "drurank"):
        assert same(one[key], other[key]), key
    assert not list(tmp_path.rglob(".*ckpt"))
