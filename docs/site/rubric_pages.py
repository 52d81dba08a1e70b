"""A page for each rubric, made of what it declares."""

from __future__ import annotations

import re
from collections.abc import Sequence

from command_pages import own_rubrics

from judge import rubrics
from judge.rubrics.contract import Facet, Kind, Measure, Rubric, Source
from judge.stats.statistic import Statistic

_FOLDER = "reference/rubrics/"


def pages() -> dict[str, str]:
    """Return the reference of rubrics: where each page lies, and its Markdown."""
    loaded = [rubrics.load(name) for name in own_rubrics()]
    index = [
        "# Rubrics",
        (
            "Made of what each rubric declares: the things that a judge writes down, the "
            "numbers of a study (measures), and those of a set of studies (statistics)."
        ),
        _table(
            ("rubric", "version", "what it does"),
            [
                (f"[{one.title}]({one.name}.md)", str(one.version), one.summary)
                for one in loaded
            ],
        ),
    ]
    found = {f"{_FOLDER}index.md": "\n\n".join(index)}
    return found | {f"{_FOLDER}{one.name}.md": _page(one) for one in loaded}


def _page(rubric: Rubric) -> str:
    has = {
        "the built-in judge answers it": rubric.baseline is not None,
        "it takes what is known of the patient": rubric.takes_context,
        "it asks several questions about a study": rubric.steps is not None,
        "its corrections can be made in the candidate": rubric.editor is not None,
    }
    said = "; ".join(words for words, is_so in has.items() if is_so)
    parts = [
        f"# {rubric.title}",
        (
            f"{rubric.summary} `judge {rubric.name}`, version {rubric.version}, "
            f"prompt `{rubric.prompt}`."
        ),
        *([f"{said[0].upper()}{said[1:]}."] if said else []),
    ]
    if rubric.kinds:
        rows = [_kind(kind) for kind in rubric.kinds]
        parts += [
            "## Items",
            "What a judge writes down.",
            _table(("kind", "items", "labels"), rows),
        ]
    for facet in rubric.facets:
        parts += [
            f"### Labels: {facet.label}",
            _table(("name", "label", "how grave"), _labels(facet)),
        ]
    measures = [_measure(one) for one in rubric.measures if one.role != "other"]
    parts += [
        "## Measures",
        "Numbers of a study: columns of `studies.csv`.",
        _table(("name", "what it is", "scale", "better", "undefined where"), measures),
    ]
    if others := [one for one in rubric.measures if one.role == "other"]:
        parts += [
            "Further columns, counts of items by their labels and parts of the numbers above:",
            ", ".join(f"`{one.name}`" for one in others) + ".",
        ]
    figures = [_statistic(one) for one in rubric.statistics]
    parts += [
        "## Statistics",
        (
            "Numbers of a set of studies, each with its 95% interval. Studies that are not scored "
            "are in none of them."
        ),
        _table(("name", "what it is", "made of", "better"), figures),
    ]
    order = ", then ".join(
        f"the {'largest' if one.largest_first else 'smallest'} `{one.measure}`"
        for one in rubric.worst
    )
    parts.append(f"The worst studies, which come first, have {order}.")
    if rubric.sources:
        works = [f"- {one.short}: {one.title}{_number(one)}" for one in rubric.sources]
        parts += ["## Sources", "\n".join(works)]
    return "\n\n".join(parts)


def _number(source: Source) -> str:
    """Return where a work is found."""
    names = {"doi": "doi:", "eprint": "arXiv:"}
    found = [
        f"{names[name]}{of}" for name, of in source.fields.items() if name in names
    ]
    return f" ({', '.join(found)})" if found else ""


def _kind(kind: Kind) -> tuple[str, str, str]:
    return (
        f"`{kind.name}`",
        kind.plural,
        ", ".join(f"`{one}`" for one in kind.facets) or "none",
    )


def _labels(facet: Facet) -> list[tuple[str, ...]]:
    return [
        (f"`{one.name}`", facet.text(one.name), one.tone or "-") for one in facet.labels
    ]


def _measure(one: Measure) -> tuple[str, ...]:
    low, high = one.scale
    ends = f"{_end(low)} to {_end(high)}" + (", whole" if one.is_whole else "")
    better = "higher" if one.higher_is_better else "lower"
    return f"`{one.name}`", one.label, ends, better, one.undefined or "never"


def _end(value: float | None) -> str:
    return "any" if value is None else f"{value:g}"


def _statistic(one: Statistic) -> tuple[str, ...]:
    better = "higher" if one.higher_is_better else "lower"
    return f"`{one.name}`", one.definition or one.label, one.formula, better


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(re.sub(r'[|]', '/', one) for one in line)} |" for line in lines
    )
