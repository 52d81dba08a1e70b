"""Figures and the names in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from judge.signature import safe_name

_MAX_STEM = 60
_MAX_NAME = 28


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: the stem of its files, title, caption and Vega-Lite specification.

    `names` has the full names of models, sites and the like that are shortened in it.
    """

    name: str
    title: str
    caption: str
    spec: dict[str, Any]
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The values that are drawn."""
        return list(self.spec["data"]["values"])


@dataclass(frozen=True, slots=True)
class FigureSet:
    """The figures of a comparison, a validation or a stress test.

    `subject` is which of them; `left_out` has a line for each figure that cannot be drawn, with
    the reason; `names` has the full names of models, judges and readers, in the figures' order.
    """

    subject: str
    figures: tuple[Figure, ...]
    left_out: tuple[str, ...]
    signature: str
    notes: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]


def flat(text: str) -> str:
    """Return `text` on one line, without characters that an XML file cannot hold."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def short_names(names: Sequence[str], longest: int = _MAX_NAME) -> list[str]:
    """Return each name cut in its middle to `longest` characters, all of them different.

    Names that a cut would make equal get their position before them, from 1.
    """
    cut = [_cut(flat(name), longest) for name in names]
    counts = Counter(cut)
    return [
        _cut(f"{number}. {flat(name)}", longest) if counts[short] > 1 or not short else short
        for number, (name, short) in enumerate(zip(names, cut, strict=True), 1)
    ]


def _cut(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    end = (longest - 1) // 2
    return f"{name[: longest - 1 - end]}…{name[-end:]}"


def count_range(numbers: Iterable[int]) -> str:
    """Return the least and the largest of `numbers`, as `120` or `98 to 120`."""
    known = sorted(numbers) or [0]
    low, high = f"{known[0]:,}", f"{known[-1]:,}"
    return low if low == high else f"{low} to {high}"


def with_unique_names(figures: Sequence[Figure]) -> tuple[Figure, ...]:
    """Return the figures with names that are safe and different on every file system."""
    stems: set[str] = set()
    named = []
    for figure in figures:
        stem = safe_name(figure.name, _MAX_STEM, keeps="_-", default="figure")
        name, number = stem, 2
        while name.lower() in stems:
            name, number = f"{stem}-{number}", number + 1
        stems.add(name.lower())
        named.append(replace(figure, name=name))
    return tuple(named)
