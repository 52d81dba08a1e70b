"""`judge compare` of runs of `judge stress`: several judges on the same candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from judge.cli.drawn import check_drawn, put
from judge.cli.stress_report import draw
from judge.types import JudgeError

_FORMS = ("table", "md", "csv", "json")
_TAKEN = frozenset({"runs", "form", "figures"})
_FEWEST = 3
"""From so many runs on an ordinary comparison leaves out what does not fit, and says so."""


def are_stress(runs: Sequence[str], options: Mapping[str, Any]) -> bool:
    """Whether all that is compared are runs of `judge stress`.

    With --allow they are runs like any others. Raises `JudgeError` where some alone are, and they
    are too few, or named, so that nothing is left out.
    """
    from judge.comparing.names import choice
    from judge.stress.comparison import is_stress

    if options["allow"]:
        return False
    choices = [choice(run) for run in runs]
    if not all(_is_there(one.path) for one in choices):
        return False  # the ordinary comparison says what is wrong
    found = [is_stress(one.path) for one in choices]
    if any(found) and not all(found) and (len(runs) < _FEWEST or any(c.model for c in choices)):
        of = [one.shown for one, is_its in zip(choices, found, strict=True) if is_its]
        raise JudgeError(
            f"{', '.join(of)} {'is' if len(of) == 1 else 'are'} of judge stress, where judges are "
            "compared, and the others are not; compare each kind by itself"
        )
    return all(found)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def compare(runs: Sequence[str], form: str, figures: Path | None = None) -> None:
    """Compare the judges and print it; raises `JudgeError` for an option that is not for them."""
    from judge.comparing.names import choice
    from judge.report import stress_judges
    from judge.stress.comparison import compare_judges

    context = click.get_current_context()
    given = [
        param.opts[0]
        for param in context.command.params
        if param.name not in _TAKEN
        and context.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT
    ]
    if "--html" in given:
        raise JudgeError(
            "judges are compared without a page: leave out --html, and write one of each with "
            "judge stress report RUN --html FILE"
        )
    if given:
        raise JudgeError(
            f"{', '.join(given)}: not for runs of judge stress, of which judges are compared; "
            "leave it out"
        )
    if form not in _FORMS:
        raise JudgeError(f"runs of judge stress have --format {', '.join(_FORMS)}")
    check_drawn(None, figures, "")
    comparison = compare_judges([(one.model, one.path) for one in map(choice, runs)])
    if figures:
        draw({name: one.plain() for name, one in comparison.reports.items()}, figures)
    put(comparison.plain(), stress_judges, form)
