"""torchmetrics modules of the group criteria; each counts the same and computes its functional twin.

In a ``MetricCollection`` they share one state. Counts are int64 of fixed size, so they add up exactly over batches and
processes, in any order and precision, and a batch may lack any group.
"""

from drurank.metrics.accuracy import GroupAccuracy
from drurank.metrics.criteria import GroupCriteria, GroupCriterion, criterion_metric
from drurank.metrics.dcg import GroupDCG
from drurank.metrics.inputs import is_correct, predicted_class
from drurank.metrics.scalars import (
    AverageGroupAccuracy,
    GroupTStat,
    OverallAccuracy,
    PercentileGroupAccuracy,
    WorstGroupAccuracy,
)

__all__ = [
    "AverageGroupAccuracy",
    "GroupAccuracy",
    "GroupCriteria",
    "GroupCriterion",
    "GroupDCG",
    "GroupTStat",
    "OverallAccuracy",
    "PercentileGroupAccuracy",
    "WorstGroupAccuracy",
    "criterion_metric",
    "is_correct",
    "predicted_class",
]
