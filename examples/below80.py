"""A criterion of your own: the share of groups under 80 % accuracy. See docs/criteria.md."""

from drurank.criteria import Criterion, register_criterion
from drurank.groups import Groups


def share_below_80(groups: Groups):
    return groups.mean(groups.accuracy < 0.8)


below80 = Criterion("below80", share_below_80, higher_is_better=False, unit="share of groups", in_percent=True)
register_criterion(below80)
