"""Which prompt a model on one's own machine is asked with."""

from __future__ import annotations

from judge.rubrics import Rubric

_OFFICIAL = {"green": "green-official"}


def prompt_name(rubric: Rubric, asked: str | None) -> str:
    """Return the prompt the user asked for, else the official one where the rubric has models.

    A GREEN model knows one wording; the program's own is for general models, and using it
    takes `--prompt`.
    """
    return asked or _OFFICIAL.get(rubric.name, rubric.prompt)
