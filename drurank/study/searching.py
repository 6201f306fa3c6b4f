"""Settings that are not all tried: drawn at random, or proposed from what was found so far."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from drurank.criteria import criterion
from drurank.study.candidates import Candidate, Draw, Range
from drurank.study.queue import Queue, quiet

OF_DRAW = "draw"


def candidate_of(queue: Queue, entry: Candidate | Draw) -> Candidate:
    """The run that stands behind an entry of a plan; of a draw the same one whenever it is asked for.

    A random draw depends on the method, its options and its number alone, so that each seed has the same ones. ``tpe``
    (tree-structured Parzen estimator) looks at one method and seed at a time: what it proposes depends on what has
    ended before, and so on the number of workers.

    Args:
        queue: of the study.
        entry: of its plan.
    """
    if isinstance(entry, Candidate):
        return entry
    study = _search(queue, entry)
    trial = _trial_of(study, entry)
    if trial is None:
        with quiet():
            trial = study.ask({name: _distribution(among) for name, among in entry.among.items()})
        trial.set_user_attr(OF_DRAW, entry.key)
    return entry.settled(trial.params)


def tell(queue: Queue, entry: Candidate | Draw, manifest: Mapping[str, Any] | None) -> None:
    """Tell the search what came of an entry; ``None`` of one that failed."""
    if isinstance(entry, Candidate):
        return
    import optuna

    study = _search(queue, entry)
    trial = _trial_of(study, entry)
    if trial is not None and not trial.state.is_finished():
        value = None if manifest is None else float(manifest["selection"][entry.by]["value"])
        study.tell(trial.number, value, state=optuna.trial.TrialState.FAIL if value is None else None)


def _search(queue: Queue, draw: Draw) -> Any:
    import optuna

    return optuna.create_study(
        study_name=f"{queue.owner}-{draw.space}",
        storage=queue.storage,
        sampler=_sampler(draw),
        direction="maximize" if criterion(draw.by).mode == "max" else "minimize",
        load_if_exists=True,
    )


def _trial_of(study: Any, draw: Draw) -> Any:
    return next((trial for trial in study.get_trials() if trial.user_attrs.get(OF_DRAW) == draw.key), None)


def _distribution(among: Range | tuple[str, ...]) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(among, Range):
        return CategoricalDistribution(among)
    whole = isinstance(among.low, int) and isinstance(among.high, int)
    return (IntDistribution if whole else FloatDistribution)(among.low, among.high, log=among.log)  # type: ignore[arg-type]


def _sampler(draw: Draw) -> Any:
    from optuna.samplers import RandomSampler, TPESampler

    start = int(hashlib.sha256(f"{draw.space} {draw.number}".encode()).hexdigest()[:8], 16)
    if draw.sampler == "random":
        return RandomSampler(seed=start)
    with quiet():
        return TPESampler(seed=start, constant_liar=True)
