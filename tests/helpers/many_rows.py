"""Cases of rows: fewer than processes, groups that a process never sees, loaders of a person's own, one row nan."""

from lightning.pytorch.callbacks import RichProgressBar, TQDMProgressBar
from torch.utils.data import DataLoader, Sampler

from drurank.data import evaluation_loader
from drurank.methods import DRU, ERM, Const
from many_data import APART, GLOBAL_BATCH, ODD, ONE, SEVEN, TWO, Parts, Watch, frozen, python_trainer, rows


def of_parts(devices, train, val, test=ODD, method=DRU, accuracy_from="evaluation", **options):
    """What a frozen network is found to get right, in a fit and in a test."""
    watch = Watch()
    trainer = python_trainer(devices, 2, callbacks=[watch], **options)
    module = method(accuracy_from=accuracy_from, **frozen())
    data = Parts(devices, train, val, test)
    trainer.fit(module, datamodule=data)
    logged = {name: float(value) for name, value in trainer.callback_metrics.items()}
    accuracy, count = module.record.group_accuracy()
    (tested,) = trainer.test(module, datamodule=data, verbose=False)
    tables = {"accuracy": accuracy, "count": count, "correct": module.record.correct}
    return {**watch.seen(), **tables, "logged": logged, "tested": tested}


def of_rows(devices):
    return {
        "evaluation": of_parts(devices, ODD, SEVEN),
        "training": of_parts(devices, ODD, ONE, accuracy_from="training"),
        "groups apart": of_parts(devices, APART, APART, APART),
        "two rows": of_parts(devices, TWO, ONE, TWO),
        "one row": of_parts(devices, ONE, ONE, ONE, Const),
        "one row of training": of_parts(devices, ONE, ONE, ONE, Const, "training"),
        "limited": of_parts(devices, ODD, SEVEN, accuracy_from="training", limit_train_batches=1),
    }


class Backwards(Sampler):
    """A sampler of a person's own."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(range(self.length - 1, -1, -1))


def own_loaders(devices):
    """Loaders of a person's own: Lightning shuffles the first under DDP and pads both."""
    train, val = rows(*ODD), rows(*SEVEN, split="val")
    seen = {}
    for accuracy_from in ("evaluation", "training"):
        for name, draw in (("in order", {"shuffle": False}), ("backwards", {"sampler": Backwards(len(train))})):
            trainer, method = python_trainer(devices), DRU(accuracy_from=accuracy_from, **frozen())
            loader = DataLoader(train, batch_size=GLOBAL_BATCH // devices, **draw)
            vals = [DataLoader(val, batch_size=2)]
            vals += [evaluation_loader(loader)] if accuracy_from == "evaluation" else []
            trainer.fit(method, loader, vals)
            logged = {name: float(value) for name, value in trainer.callback_metrics.items()}
            found = {"logged": logged, "correct": method.record.correct, "weight": method.state["weight"]}
            seen[accuracy_from, name] = found
    return seen


def with_a_bar(devices):
    """What is logged with a progress bar, which the first process alone has; ERM's own exchange follows it."""
    seen = {}
    for bar in (RichProgressBar, TQDMProgressBar):
        trainer = python_trainer(devices, 2, callbacks=[bar()], enable_progress_bar=True)
        trainer.fit(ERM(**frozen()), datamodule=Parts(devices, ODD, ODD))
        seen[bar.__name__] = {name: float(value) for name, value in trainer.callback_metrics.items()}
    return seen


class OwnMean(ERM):
    """The mean over the rows of one process."""

    def reduce(self, losses, batch, state):
        return losses.mean()


def mean_of_one_process(devices):
    """With several processes every one must say that this is not the mean of the global batch."""
    try:
        python_trainer(devices).fit(OwnMean(**frozen()), datamodule=Parts(devices, ODD, ODD))
    except ValueError as error:
        return str(error)
    return "went on"


def nan_on_one_process(devices):
    """One row, so one process's loss, is nan; every process must stop and say so."""
    data = Parts(devices, ODD, ODD)
    data.dataset("train").dataset.tensors[0][7] = float("nan")
    try:
        python_trainer(devices).fit(DRU(accuracy_from="training", **frozen()), datamodule=data)
    except ValueError as error:
        return str(error)
    return "went on"
