"""Empirical risk minimisation."""

from __future__ import annotations

from drurank.methods.group_module import GroupModule


class ERM(GroupModule):
    """Empirical risk minimisation: every sample weighs 1; the objective is the mean loss.

    Args:
        **kwargs: those of ``GroupModule``.
    """

    accuracy_from = "training"  # no weights come from its errors, so no extra pass is needed
