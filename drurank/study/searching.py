"""Settings that are not all tried: drawn at random, or proposed from what was found so far."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from drurank.criteria import criterion
from drurank.study.candidates import Candidate, Draw, Range
from drurank.study.queue import Queue, quiet

OF_DRAW = "draw"


class Search:
    """What Optuna's sampler proposes for one draw, and is told of it.

    A random draw depends on the method, its options and its number alone, so that each seed has the same ones. ``tpe``
    (tree-structured Parzen estimator) looks at one method and seed at a time: what it proposes depends on what has
    ended before, and so on the number of workers.

    Args:
        queue: of the study.
        draw: the place in the queue.
    """

    def __init__(self, queue: Queue, draw: Draw) -> None:
        import optuna

        self._optuna, self._draw = optuna, draw
        self._study = optuna.create_study(
            study_name=f"{queue.name}-{draw.space}",
            storage=queue.storage,
            sampler=_sampler(draw),
            direction="maximize" if criterion(draw.by).mode == "max" else "minimize",
            load_if_exists=True,
        )

    def candidate(self) -> Candidate:
        """The setting; the same one when it is asked for again."""
        known = [trial for trial in self._study.get_trials() if trial.user_attrs.get(OF_DRAW) == self._draw.key]
        if known:
            return self._draw.settled(known[0].params)
        with quiet():
            trial = self._study.ask({name: self._distribution(among) for name, among in self._draw.among.items()})
        trial.set_user_attr(OF_DRAW, self._draw.key)
        return self._draw.settled(trial.params)

    def tell(self, manifest: Mapping[str, Any] | None) -> None:
        """What came of it; ``None`` of a candidate that failed."""
        value = None if manifest is None else float(manifest["selection"][self._draw.by]["value"])
        for trial in self._study.get_trials():
            if trial.user_attrs.get(OF_DRAW) == self._draw.key and not trial.state.is_finished():
                state = self._optuna.trial.TrialState.FAIL if value is None else None
                self._study.tell(trial.number, value, state=state)

    def _distribution(self, among: Any) -> Any:
        distributions = self._optuna.distributions
        if not isinstance(among, Range):
            return distributions.CategoricalDistribution(among)
        whole = isinstance(among.low, int) and isinstance(among.high, int)
        kind = distributions.IntDistribution if whole else distributions.FloatDistribution
        return kind(among.low, among.high, log=among.log)


def _sampler(draw: Draw) -> Any:
    from optuna.samplers import RandomSampler, TPESampler

    start = int(hashlib.sha256(f"{draw.space} {draw.number}".encode()).hexdigest()[:8], 16)
    if draw.sampler == "random":
        return RandomSampler(seed=start)
    with quiet():
        return TPESampler(seed=start, constant_liar=True)
