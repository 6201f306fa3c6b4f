"""Every method with two samplers, every sampler with many methods.

One epoch is with a network that does not move yet, then come two of training.
"""

import torch

from drurank.methods import DFR, DRU, ERM, IRM, JTT, ChiSquare, Const, CVaR, GroupDRO, Worst
from drurank.training.global_batch import gather_losses
from many_data import Bent, Deeper, Overlapping, Watch, python_trainer


class Tilted(ERM):
    """An objective of a person's own that is no sum over rows: the logarithm of the mean of e^(t loss), over t."""

    tilt = 2.0

    def reduce(self, losses, batch, state):
        everywhere = gather_losses(losses, batch, fill=-torch.inf)
        mean = (self.tilt * everywhere).logsumexp(dim=-1) - torch.as_tensor(batch["rows"]).log()
        return mean / self.tilt


METHODS = {
    "ERM": ERM,
    "DRU": DRU,
    "DRU of training": lambda **k: DRU("index", "all", 2, "average", "training", normalize_weights=True, **k),
    "Worst": lambda **k: Worst(4, **k),
    "Const": Const,
    "JTT": lambda **k: JTT(first_stage_epochs=1, upweight_factor=5, **k),
    "GroupDRO": lambda **k: GroupDRO(step_size=0.3, **k),
    "GroupDRO sagawa": lambda **k: GroupDRO("sagawa", 0.3, generalization_adjustment=1, **k),
    "IRM": lambda **k: IRM(penalty_weight=3, anneal_steps=3, **k),
    "CVaR": lambda **k: CVaR(alpha=0.3, **k),
    "ChiSquare": lambda **k: ChiSquare(radius=0.5, **k),
    "DFR": lambda **k: DFR(subsets=2, **k),
    "Tilted": Tilted,
}
OVERLAPPING = "of groups that overlap"
"""Stands for a sampler where each row is drawn and groups overlap."""
SAMPLERS = ("shuffle", "balanced", "subsample", "groups_per_batch")
RATES = {"IRM": 0.05}  # at the rate of the others its penalty runs away
EPOCHS = 3
GROUP = [group for group, size in enumerate((10, 8, 6, 5, 4, 2, 2)) for _ in range(size)]
"""37 rows: the last global batch has a single one, so that a process has none."""
GROUPS_OF_BATCH = 6


def data(devices, sampler):
    own = {"groups_per_batch": GROUPS_OF_BATCH // devices} if sampler == "groups_per_batch" else {}
    part = ([True] * len(GROUP), GROUP)
    if sampler == OVERLAPPING:
        return Overlapping(devices, part, part, part)
    return Bent(devices, part, part, sampler=sampler, **own)


def from_second_epoch(optimizer):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: float(epoch > 0))


def fitted(devices, method, sampler, rate=0.5, **options):
    watch = Watch()
    trainer = python_trainer(devices, EPOCHS, callbacks=[watch], num_sanity_val_steps=0, **options)
    module = method(
        network=Deeper(),
        optimizer=lambda params: torch.optim.SGD(params, lr=rate),
        lr_scheduler=from_second_epoch,
    )
    rows = data(devices, sampler)
    trainer.fit(module, datamodule=rows)
    (tested,) = trainer.test(module, datamodule=rows, verbose=False) if sampler == OVERLAPPING else ({},)
    count = module.record.group_accuracy()[1]
    return {
        **watch.seen(),
        "tested": tested,
        "parameters": {name: value.detach().clone() for name, value in module.network.named_parameters()},
        "known": {"correct": module.record.correct, "count": count},
        "rank": module.group_rank(module.ranked_accuracy(module.record)),
        "state": {name: value for name, value in module.state.items() if not name.startswith("initial.")},
    }


def cases(devices):
    """Every method with one sampler in two processes and with another in three, and with both in one process.

    DRU of training, whose tables depend on the rows that are drawn, takes every sampler.
    """
    for number, name in enumerate(METHODS):
        for place, sampler in enumerate(SAMPLERS):
            turn = (number + place) % 4
            of_two, of_three = (turn % 2 == 1, turn % 2 == 0) if name == "DRU of training" else (turn == 0, turn == 1)
            if (devices != 3 and of_two) or (devices != 2 and of_three):
                yield name, sampler


def every_method(devices):
    found = {
        (name, sampler): fitted(devices, METHODS[name], sampler, RATES.get(name, 0.5))
        for name, sampler in cases(devices)
    }
    in_parts = {"accumulate_grad_batches": 2, "gradient_clip_val": 0.1}
    for name in ("DRU", "DRU of training", "Worst", "CVaR"):
        found[name, OVERLAPPING] = fitted(devices, METHODS[name], OVERLAPPING)
    found["DRU", "in parts"] = fitted(devices, DRU, "shuffle", **in_parts)
    return found
