"""Reports of how each group is served, with what chance alone would do; without torch."""

from drurank.report.counted import report_counts
from drurank.report.counts import SplitCounts
from drurank.report.over_seeds import over_seeds, seeds_table
from drurank.report.predictions import report_predictions
from drurank.report.tables import criteria_table
from drurank.report.write import print_report, write_report

__all__ = [
    "SplitCounts",
    "criteria_table",
    "over_seeds",
    "print_report",
    "report_counts",
    "report_predictions",
    "seeds_table",
    "write_report",
]
