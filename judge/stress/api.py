"""Stress tests from Python: runs in, a report out, under the names that `judge` offers."""

from judge.stress.report import StressReport
from judge.stress.report import report_of as stress_report

__all__ = ["StressReport", "stress_report"]
