"""Studies: many candidates on one dataset, and comparisons of them without training."""

from drurank.study.candidates import Candidate
from drurank.study.choosing import criteria_concordance
from drurank.study.comparing import compare, find
from drurank.study.finished import Study
from drurank.study.plan import Plan
from drurank.study.result import Result
from drurank.study.tabulating import study_table

__all__ = ["Candidate", "Plan", "Result", "Study", "compare", "criteria_concordance", "find", "study_table"]
