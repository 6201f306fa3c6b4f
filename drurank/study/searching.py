"""Settings that are not all tried: drawn at random, or proposed from what was found so far."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from drurank.figures.selecting import selectable_criterion
from drurank.study.candidates import Candidate, Range, SearchTrial
from drurank.study.database import quiet
from drurank.study.queue import KEY, Queue


def candidate_of(queue: Queue, entry: Candidate | SearchTrial) -> Candidate:
    """The run that an entry of a plan stands for; of a trial the same one whenever it is asked for.

    What ``random`` proposes depends on the method, its options and the trial's number alone, so that each seed has the
    same settings. ``tpe`` (tree-structured Parzen estimator) looks at one method and seed at a time: what it proposes
    depends on what has ended before, and so on the number of workers.

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
            trial = study.ask({name: _distribution(choices) for name, choices in entry.choices.items()})
        trial.set_user_attr(KEY, entry.key)
    return entry.with_options(trial.params)


def tell(queue: Queue, entry: Candidate | SearchTrial, manifest: Mapping[str, Any] | None) -> None:
    """Tell the search how an entry ended.

    Args:
        queue: of the study.
        entry: of its plan.
        manifest: of the finished candidate; ``None`` if it failed.
    """
    if isinstance(entry, Candidate):
        return
    from optuna.trial import TrialState  # here, since it is slow to import, and optional

    study = _search(queue, entry)
    trial = _trial_of(study, entry)
    if trial is not None and not trial.state.is_finished():
        value = None if manifest is None else float(manifest["selection"][entry.by]["value"])
        study.tell(trial.number, value, state=TrialState.FAIL if value is None else None)


def _search(queue: Queue, trial: SearchTrial) -> Any:
    import optuna

    return optuna.create_study(
        study_name=f"{queue.owner}-{trial.search}",
        storage=queue.storage,
        sampler=_sampler(trial),
        direction="maximize" if selectable_criterion(trial.by).higher_is_better else "minimize",
        load_if_exists=True,
    )


def _trial_of(study: Any, trial: SearchTrial) -> Any:
    return next((found for found in study.get_trials(deepcopy=False) if found.user_attrs.get(KEY) == trial.key), None)


def _distribution(choices: Range | tuple[str, ...]) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(choices, Range):
        return CategoricalDistribution(choices)
    whole = isinstance(choices.low, int) and isinstance(choices.high, int)
    return (IntDistribution if whole else FloatDistribution)(choices.low, choices.high, log=choices.log)  # type: ignore[arg-type]


def _sampler(trial: SearchTrial) -> Any:
    from optuna.samplers import RandomSampler, TPESampler

    start = int(hashlib.sha256(f"{trial.search} {trial.number}".encode()).hexdigest()[:8], 16)
    if trial.sampler == "random":
        return RandomSampler(seed=start)
    with quiet():
        return TPESampler(seed=start, constant_liar=True)
