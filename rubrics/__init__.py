"""The rubrics: their questions, readers of replies, and numbers.

Each rubric is a folder beside this file whose `__init__` defines `RUBRIC`, or an entry point of the
group `judge.rubrics` of an installed package, whose `cases/` and prompts (`prompts/NAME.yaml`) lie
beside the module that it names.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from judge import plugins
from judge.rubrics.contract import (
    Counted,
    Facet,
    Kind,
    Label,
    Measure,
    Order,
    Parse,
    Rubric,
    Source,
    StructuredReply,
    Tally,
)
from judge.rubrics.questions import Step, Steps
from judge.stats.statistic import (
    InverseMean,
    Mean,
    OfMean,
    OfSums,
    Rate,
    Ratio,
    Statistic,
)
from judge.types import JudgeError, Study

__all__ = ["Counted", "Facet", "Kind", "Label", "Measure", "Order", "Parse", "Rubric"]
__all__ += ["Source", "StructuredReply", "Tally"]
__all__ += ["InverseMean", "Mean", "OfMean", "OfSums", "Rate", "Ratio", "Statistic"]
__all__ += [
    "built_in",
    "cases",
    "load",
    "names",
    "prompt_files",
    "reading_file",
    "summary",
]

_ROOT = Path(__file__).parent
T = TypeVar("T", Rubric, StructuredReply)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_FUNCTIONS = ("parse", "measure", "render", "baseline", "editor", "reply_model")


def built_in() -> list[str]:
    """Return the names of the rubrics that come with the program, sorted."""
    folders = (file.parent.name for file in _ROOT.glob("*/__init__.py"))
    return sorted(filter(_NAME.fullmatch, folders))


def names() -> list[str]:
    """Return the names of all rubrics: those built in and then those that packages add, sorted."""
    known = built_in()
    return [*known, *filter(_NAME.fullmatch, plugins.RUBRICS.names(known))]


def load(name: str) -> Rubric:
    """Return the rubric called `name`; raises `JudgeError` for an unknown or faulty one."""
    if name in built_in():
        plugins.RUBRICS.check_unique(name)
        rubric: Rubric = importlib.import_module(f"judge.rubrics.{name}").RUBRIC
        return rubric
    if name not in names():
        raise JudgeError(f"unknown rubric {name!r}; there are: {', '.join(names())}")
    added = plugins.RUBRICS.load(name)
    if not isinstance(added, Rubric):
        raise plugins.RUBRICS.error(name, f"is no Rubric but {added!r:.80}")
    if added.name != name:
        raise plugins.RUBRICS.error(
            name, f"calls itself {added.name!r}: it needs that name"
        )
    structured = added.structured and _guarded(
        name, added.structured, ("parse", "render")
    )
    steps = added.steps and _guarded_steps(name, added.steps)
    return replace(
        _guarded(name, added, _FUNCTIONS), structured=structured, steps=steps
    )


def summary(name: str) -> str:
    """Return the summary of a built-in rubric, from its source: to load it takes long."""
    source = (_ROOT / name / "__init__.py").read_text("utf-8")
    line = re.search(r'^    summary="(.+)",$', source, re.MULTILINE)
    return line[1] if line else load(name).summary


def _guarded(name: str, owner: T, functions: Iterable[str]) -> T:
    works: dict[str, Any] = {
        function: getattr(owner, function) for function in functions
    }
    for key, work in works.items():
        works[key] = work and plugins.RUBRICS.guarded(name, work)
    return replace(owner, **works)


def _guarded_steps(name: str, steps: Steps) -> Steps:
    coming = plugins.RUBRICS.guarded(name, steps.coming)

    def checked(study: Study, answers: Mapping[str, str]) -> Sequence[Step]:
        found = coming(study, answers)
        is_right = isinstance(found, Sequence) and all(
            isinstance(each, Step) for each in found
        )
        if not is_right:
            raise plugins.RUBRICS.error(
                name, f"gives no list of steps but {found!r:.80}"
            )
        return found

    questions = {
        asks: replace(
            question,
            check=plugins.RUBRICS.guarded(name, question.check),
            reply_model=question.reply_model
            and plugins.RUBRICS.guarded(name, question.reply_model),
        )
        for asks, question in steps.questions.items()
    }
    return replace(steps, coming=checked, questions=questions)


def prompt_files(name: str) -> dict[str, Path]:
    """Return the prompt files of a package's rubric by their stems."""
    return {
        path.stem: path for path in sorted((_folder(name) / "prompts").glob("*.yaml"))
    }


def cases(name: str) -> Path:
    """Return the folder of completions with their expected results."""
    return _folder(name) / "cases"


def reading_file(name: str) -> Path:
    """Return the file with what a reader needs to read by the rubric, which it may lack."""
    return _folder(name) / "reading.yaml"


def _folder(name: str) -> Path:
    added = plugins.RUBRICS.names(built_in())
    return plugins.RUBRICS.folder(name) if name in added else _ROOT / name
