"""Find out what radiology report-generation models get wrong.

from judge import annotate

annotate(references, candidates)  # a DataFrame with one row a study
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

# In a checkout cli, prompts and others lie beside this folder, not in it (see pyproject.toml).
if not Path(__file__).with_name("cli").exists():
    __path__.append(str(Path(__file__).parents[1]))

if TYPE_CHECKING:
    from judge.run.api import annotate as annotate
    from judge.types import JudgeError as JudgeError

__all__ = ["JudgeError", "annotate"]


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: pandas takes half a second."""
    if name == "annotate":
        from judge.run.api import annotate

        return annotate
    if name == "JudgeError":
        from judge.types import JudgeError

        return JudgeError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
