"""Studies: many candidates on one dataset, and comparisons of them without training."""

from drurank.study.candidates import Candidate
from drurank.study.choosing import criteria_concordance
from drurank.study.comparing import compare
from drurank.study.comparing_candidates import compare_in_study, find
from drurank.study.comparing_files import compare_predictions, compare_runs
from drurank.study.exporting import export_best
from drurank.study.finished import Study
from drurank.study.plan import Plan
from drurank.study.result import Result
from drurank.study.seeds import report_over_seeds
from drurank.study.shipping import recommend
from drurank.study.tabulating import study_table

__all__ = [
    "Candidate",
    "Plan",
    "Result",
    "Study",
    "compare",
    "compare_in_study",
    "compare_predictions",
    "compare_runs",
    "criteria_concordance",
    "export_best",
    "find",
    "recommend",
    "report_over_seeds",
    "study_table",
]
