"""Find out what radiology report-generation models get wrong.

from judge import annotate

annotate(references, candidates)  # a DataFrame with one row a study

docs/python.md tells the rest.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

# In a checkout cli, prompts and others lie beside this folder, not in it (see pyproject.toml).
if not Path(__file__).with_name("cli").exists():
    __path__.append(str(Path(__file__).parents[1]))

if TYPE_CHECKING:
    from judge.comparing.api import Leaderboard, compare, recurring_errors
    from judge.rubrics import Rubric
    from judge.running.api import annotate, merge, panel, run
    from judge.running.asking import RequestPolicy
    from judge.running.engine import RunStoppedError
    from judge.running.folder import Run
    from judge.stats.paired import Resampling
    from judge.stress.report import StressReport, stress_report
    from judge.types import Annotated, Annotation, Failed, JudgeError, Outcome, Study, Unparsed
    from judge.validating.api import Validation, validate

    __version__: str

__all__ = ["Annotated", "Annotation", "Failed", "JudgeError", "Leaderboard", "Outcome"]
__all__ += ["RequestPolicy", "Resampling", "Rubric", "Run", "RunStoppedError", "Study", "Unparsed"]
__all__ += ["StressReport", "Validation", "__version__", "annotate", "compare", "merge"]
__all__ += ["panel", "recurring_errors", "run", "stress_report", "validate"]

_FROM = {
    **dict.fromkeys(("Leaderboard", "compare", "recurring_errors"), "judge.comparing.api"),
    **dict.fromkeys(("annotate", "merge", "panel", "run"), "judge.running.api"),
    **dict.fromkeys(("StressReport", "stress_report"), "judge.stress.report"),
    **dict.fromkeys(("Validation", "validate"), "judge.validating.api"),
    "RequestPolicy": "judge.running.asking",
    "Resampling": "judge.stats.paired",
    "Rubric": "judge.rubrics",
    "Run": "judge.running.folder",
    "RunStoppedError": "judge.running.engine",
}


def __dir__() -> list[str]:
    """List what is public."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: pandas takes half a second."""
    if name == "__version__":
        from judge.distribution import version

        return version()
    if name in __all__:
        return getattr(import_module(_FROM.get(name, "judge.types")), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
