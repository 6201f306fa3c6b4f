"""Candidates an hour, trained together, one after the other, and by two workers: python benchmarks/stacked.py.

Synthetic setting 3, the default network with its dropout, AdamW, batches of 16, whole fits with validation and
checkpoints: half of the candidates ERM, half DRU, each with a seed of its own. Run it with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from lightning.pytorch import Trainer, seed_everything
from shown import Row, be_quiet, print_rows

from drurank.callbacks import best_by
from drurank.data import Synthetic
from drurank.methods import DRU, ERM
from drurank.stacked.engine import Fit, run_together

SIZES = (8, 32, 64)
TARGETS = {32: 1 / 5, 256: 1 / 50}
"""Of the time alone, by the number of candidates; the second on a GPU."""
OF_TWO_WORKERS = {32: 1 / 2.5}
"""The same, of the time of two workers."""
GROUPS = (1000, 500, 500)
FEWER_GROUPS = (200, 100, 100)


def fit(number: int, folder: Path, epochs: int, groups: Sequence[int], accelerator: str) -> None:
    """A whole fit of one candidate."""
    seed_everything(number, verbose=False)
    trainer = Trainer(
        accelerator=accelerator,
        devices=1,
        max_epochs=epochs,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=best_by("qdcg10", folder / str(number)),
    )
    method = DRU() if number % 2 else ERM()
    trainer.fit(method, datamodule=Synthetic(setting=3, groups=groups, batch_size=16, eval_batch_size=1024))


def seconds_of(size: int, *options: Any) -> float:
    """Wall time of so many candidates; of one, alone."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        works = [partial(fit, number, Path(name), *options) for number in range(size)]
        if size == 1:
            works[0]()
        else:
            run_together([Fit(work, raised) for work in works])
    return time.perf_counter() - begun


def raised(error: BaseException | None) -> None:
    """A fit is over."""
    if error is not None:
        raise error


def seconds_of_two_workers(*options: Any) -> float:
    """Wall time of a candidate where two processes train at the same time, one each."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        [*pool.map(partial(of_a_worker, *options), range(2))]  # which loads what they need
        begun = time.perf_counter()
        [*pool.map(partial(of_a_worker, *options), range(2))]
        return (time.perf_counter() - begun) / 2


def of_a_worker(*options: Any) -> float:
    """Wall time of one candidate in a process of its own; the last argument, its number, is not used."""
    be_quiet()
    return seconds_of(1, *options[:-1])


def rows(
    sizes: Sequence[int] = SIZES, epochs: int = 1, groups: Sequence[int] = GROUPS, accelerator: str = "cpu"
) -> list[Row]:
    """Seconds a candidate, alone, of two workers and in stacks, and the memory of the process so far."""
    alone = min(seconds_of(1, epochs, groups, accelerator) for _ in range(2))  # the first one loads what it needs
    found = [Row("a fit alone", alone, "s")]
    two = None
    if accelerator == "cpu":
        two = seconds_of_two_workers(epochs, groups, accelerator)
        found.append(Row("two workers at once, each fit", two, "s", "alone", two / alone))
    for size in sizes:
        each = seconds_of(size, epochs, groups, accelerator) / size
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        what = f"{size} together, each ({memory:.1f} GiB in all, {3600 / each:.0f} an hour)"
        found.append(Row(what, each, "s", "alone", each / alone, TARGETS.get(size)))
        if two is not None and size in OF_TWO_WORKERS:
            found.append(Row(f"the same {size}", each, "s", "two workers", each / two, OF_TWO_WORKERS[size]))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--groups", type=int, nargs=3, default=GROUPS, help="of training, OOD validation and OOD test")
    options = parser.parse_args()
    be_quiet()
    print_rows(rows(options.sizes, options.epochs, options.groups))


if __name__ == "__main__":
    main()
