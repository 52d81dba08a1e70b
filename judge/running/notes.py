"""What a reader of a run must be told of its judge's questions, in parts that add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from judge.backends import CountedNote, Judge


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes that count, which add up, and others, which are told once."""

    counted: tuple[CountedNote, ...] = ()
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, judge: Judge) -> Self:
        """Return what a judge says of the questions that it made so far."""
        counted = judge.counted
        known = {str(note) for note in counted}
        return cls(counted, tuple(note for note in judge.notes if note not in known))

    @classmethod
    def read(cls, counted: Iterable[Mapping[str, Any]], others: Iterable[str]) -> Self:
        """Return the notes that a manifest holds."""
        return cls(tuple(CountedNote(**one) for one in counted), tuple(others))

    def __add__(self, other: Notes) -> Notes:
        """Return the notes of two parts as those of both."""
        found = {note.text: note for note in self.counted}
        for note in other.counted:
            old = found.setdefault(note.text, replace(note, n=0, of=0))
            found[note.text] = replace(note, n=old.n + note.n, of=old.of + note.of)
        return Notes(tuple(found.values()), tuple(dict.fromkeys((*self.others, *other.others))))

    @property
    def told(self) -> list[str]:
        """What is told, one text a note."""
        return [*(str(note) for note in self.counted if note.n), *self.others]

    def plain(self) -> list[dict[str, Any]]:
        """Return what counts as JSON's types."""
        return [asdict(note) for note in self.counted]
