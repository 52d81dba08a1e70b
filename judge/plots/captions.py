"""What the figures show, in words: the text beside them, and what a box in a name stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from judge.plots.build import Drawing, Plan, Ranks, name_lists
from judge.plots.labels import UNKNOWN, numbers_of_boxed
from judge.stats.compare import Comparison


def captions_text(c: Comparison, planned: Plan) -> str:
    """Return Markdown that says what each figure shows, with the names in full."""
    lines = ["# Figures", ""]
    lines += [f"- `{drawing.name}`: {drawing.caption}" for drawing in planned.drawings]
    lines += [f"- Not drawn: {reason}." for reason in planned.left_out]
    if any(map(_has_box, planned.drawings)):
        lines.append(
            f"- {UNKNOWN}: a letter that the figures' font lacks; the number before such a name "
            "is its position in the list of models, or in its own list, below."
        )
    if c.notes:
        lines += ["", "Notes on the comparison:", ""]
        lines += [f"- {_flat(note)}" for note in c.notes]
    models = [c.panel.models[model] for model in c.order]
    lines += ["", "Models, in the order of the figures:", "", *_numbered(models)]
    for drawing in planned.drawings:
        if isinstance(drawing.data, Ranks):
            lines += ["", f"Sites, in the order of `{drawing.name}`:", ""]
            lines += _numbered(drawing.data.sites)
    for (what, names), drawing in _other_boxed_lists(planned.drawings).items():
        lines += ["", f"{what.capitalize()}, in the order of `{drawing.name}`:", ""]
        lines += _numbered(names)
    lines += ["", f"Signature: `{c.signature}`", ""]
    return "\n".join(lines)


def boxed_names(drawings: Iterable[Drawing]) -> tuple[str, ...]:
    """Return the names of which the font lacks a letter, each once."""
    lists = [names for drawing in drawings for names in name_lists(drawing.data).values()]
    found = [names[number - 1] for names in lists for number in numbers_of_boxed(names)]
    return tuple(dict.fromkeys(found))


def caption_with_key(drawing: Drawing) -> str:
    """Return the caption, and after it the names of which the font lacks a letter."""
    if not _has_box(drawing):
        return drawing.caption
    key = f"{drawing.caption} {UNKNOWN}: a letter that the figure's font lacks"
    for what, names in name_lists(drawing.data).items():
        numbers = numbers_of_boxed(names)
        if numbers:
            listed = ", ".join(f"{number}. {_flat(names[number - 1])}" for number in numbers)
            key += f"; {what} by their numbers: {listed}"
    return f"{key}."


def _has_box(drawing: Drawing) -> bool:
    # A metric stands in the title, and below the panels.
    return bool(boxed_names([drawing]) or numbers_of_boxed([drawing.title]))


def _other_boxed_lists(
    drawings: Iterable[Drawing],
) -> dict[tuple[str, tuple[str, ...]], Drawing]:
    """Return the lists that a reader needs besides models and sites, with their first figure."""
    found: dict[tuple[str, tuple[str, ...]], Drawing] = {}
    for drawing in drawings:
        for what, names in name_lists(drawing.data).items():
            if what not in ("models", "sites") and numbers_of_boxed(names):
                found.setdefault((what, names), drawing)
    return found


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"{number}. {_flat(name)}" for number, name in enumerate(names, 1)]


def _flat(text: str) -> str:
    return " ".join(text.split())
