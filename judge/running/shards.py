"""A fixed part of a set of studies, so that several machines can judge one set."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Self

from judge.backends.base import Notes
from judge.studies import StudySet
from judge.types import JudgeError

MOST = 100_000
"""Shards of one set: as many pods as an indexed Job of Kubernetes runs at a time."""
_FORM = re.compile(r"0*(\d{1,9})/0*(\d{1,9})", re.ASCII)


def shard_of(study_id: str, count: int) -> int:
    """Return the shard, from 1, that a study falls in: by its id and how many there are alone."""
    digest = hashlib.sha256(study_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest) % count + 1


@dataclass(frozen=True, slots=True)
class Shard:
    """The `index`-th of `count` parts, from 1; written 3/8."""

    index: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count <= MOST:
            raise JudgeError(
                f"there is no shard {self.index}/{self.count}: a shard is I/N, such as 3/8, "
                f"with I from 1 to N and N at most {MOST:,}"
            )

    @classmethod
    def of(cls, given: object) -> Shard:
        """Return the shard that a user names, as `3/8` or (3, 8); raises `JudgeError`."""
        if isinstance(given, Shard):
            return given
        if isinstance(given, str) and (found := _FORM.fullmatch(given.strip())):
            return cls(*map(int, found.groups()))
        if isinstance(given, tuple | list) and [type(part) for part in given] == [int, int]:
            return cls(*given)
        raise JudgeError(
            f"{given!r} is no shard: write I/N, such as 3/8 for the third of eight parts, "
            "or from Python (3, 8)"
        )

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def rows(self, studies: StudySet) -> list[int]:
        """Return which rows of `studies` fall in this shard."""
        ids = enumerate(studies.study_ids)
        return [row for row, name in ids if shard_of(name, self.count) == self.index]

    def note(self, n: int, n_whole: int) -> str:
        """Say what part of the whole set a run of this shard is."""
        return (
            f"this is shard {self.index} of {self.count}: {n:,} of {n_whole:,} studies; judge "
            "merge joins the shards"
        )


@dataclass(frozen=True, slots=True)
class Part:
    """A shard's studies in the whole set, and notes: what its manifest says to be merged by.

    `places` are the rows of its studies in the whole set, in order; `asked` are the notes of its
    own studies, which add up. The input's notes stand for the whole set: they are `of_input`.
    """

    shard: Shard
    n_whole: int
    places: Sequence[int]
    of_input: Sequence[str]
    asked: Notes

    @property
    def notes(self) -> list[str]:
        """What a reader of the shard's run is told."""
        about = self.shard.note(len(self.places), self.n_whole)
        return [*self.of_input, about, *self.asked.told]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types; of the places, how far each is from the one before."""
        steps = (after - before for before, after in pairwise((0, *self.places)))
        return {
            "index": self.shard.index,
            "count": self.shard.count,
            "n_whole": self.n_whole,
            "steps": " ".join(map(str, steps)),
            "notes_of_input": list(self.of_input),
            "counted": self.asked.plain(),
            "notes_of_judge": list(self.asked.others),
        }

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `plain` gave; raises ValueError for what it cannot have given."""
        try:
            steps = [int(step) for step in plain["steps"].split()]
            shard = Shard(plain["index"], plain["count"])
        except (ValueError, JudgeError) as error:
            raise ValueError(f"'shard': {error}") from error
        places = list(accumulate(steps))
        if any(step < 1 for step in steps[1:]) or min(steps, default=0) < 0 or plain["n_whole"] < 0:
            raise ValueError("'shard.steps': places go up")
        if places and places[-1] >= plain["n_whole"]:
            raise ValueError("'shard.steps': a place is not in the set")
        asked = Notes.read(plain["counted"], plain["notes_of_judge"])
        return cls(shard, plain["n_whole"], places, plain["notes_of_input"], asked)
