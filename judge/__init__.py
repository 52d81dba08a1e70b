"""Find out what radiology report-generation models get wrong.

from judge import annotate

annotate(references, candidates)  # a DataFrame with one row a study

docs/python.md tells the rest. Names are imported when they are used: pandas takes half a second.
"""

from __future__ import annotations

import os

# In a checkout judge/cli, judge/rubrics and others are links to the folders beside this one, so
# that every tool finds them. Where links are lost, as in a ZIP file that Windows unpacks, the
# folders themselves are looked through.
if not os.path.isdir(os.path.join(os.path.dirname(__file__), "cli")):  # noqa: PTH112, PTH118, PTH120
    __path__.append(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120

TYPE_CHECKING = False  # as of `typing`, whose import takes longer than all of this
if TYPE_CHECKING:
    from judge.api import annotate, experiment, merge, panel, run
    from judge.experiments.experiment import Experiment
    from judge.results.comparison import Leaderboard, compare, recurring_errors
    from judge.results.experiment import ExperimentResult
    from judge.results.run import Run
    from judge.results.stress import StressReport, stress_report
    from judge.results.validation import Validation, validate
    from judge.rubrics import Rubric
    from judge.running.policy import RequestPolicy
    from judge.running.progress import RunStoppedError
    from judge.stats.significance import Resampling
    from judge.types import (
        Annotation,
        Failed,
        JudgeError,
        Outcome,
        Scored,
        Study,
        Unparsed,
    )

    __version__: str

__all__ = ["Annotation", "Failed", "JudgeError", "Leaderboard", "Outcome"]
__all__ += [
    "RequestPolicy",
    "Resampling",
    "Rubric",
    "Run",
    "RunStoppedError",
    "Study",
    "Unparsed",
]
__all__ += ["StressReport", "Validation", "__version__", "annotate", "compare", "merge"]
__all__ += ["Experiment", "ExperimentResult", "experiment"]
__all__ += ["Scored", "panel", "recurring_errors", "run", "stress_report", "validate"]

_MODULES = {
    "api": ("annotate", "experiment", "merge", "panel", "run"),
    "experiments.experiment": ("Experiment",),
    "results.comparison": ("Leaderboard", "compare", "recurring_errors"),
    "rubrics": ("Rubric",),
    "running.policy": ("RequestPolicy",),
    "running.progress": ("RunStoppedError",),
    "results.experiment": ("ExperimentResult",),
    "results.run": ("Run",),
    "stats.significance": ("Resampling",),
    "results.stress": ("StressReport", "stress_report"),
    "types": (
        "Scored",
        "Annotation",
        "Failed",
        "JudgeError",
        "Outcome",
        "Study",
        "Unparsed",
    ),
    "results.validation": ("Validation", "validate"),
}


_REMOVED = {"Annotated": "Scored"}
"""Names that are gone -> what has taken their place."""


def __dir__() -> list[str]:
    """List what is public."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """Import a public name when it is used."""
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        return version("radiology-judge")
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"judge.{module}"), name)
    if name in _REMOVED:
        raise AttributeError(f"judge.{name} is gone: use judge.{_REMOVED[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
