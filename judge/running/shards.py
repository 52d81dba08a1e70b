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

    @classmethod
    def of(cls, given: object) -> Shard:
        """Return the shard that a user names, as `3/8` or (3, 8); raises `JudgeError`."""
        if isinstance(given, Shard):
            return given
        if isinstance(given, str) and (match := _FORM.fullmatch(given.strip())):
            pair: object = tuple(map(int, match.groups()))
        else:
            pair = given
        if isinstance(pair, tuple | list) and [type(part) for part in pair] == [int, int]:
            shard = cls(*pair)
            if 1 <= shard.index <= shard.count <= MOST:
                return shard
        raise JudgeError(
            f"{given!r} is no shard: write I/N, such as 3/8 for the third of eight parts (from "
            f"Python (3, 8)), with N at most {MOST:,}"
        )

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def rows(self, studies: StudySet) -> list[int]:
        """Return which rows of `studies` fall in this shard."""
        ids = enumerate(studies.study_ids)
        return [row for row, name in ids if shard_of(name, self.count) == self.index]


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
        about = (
            f"this is shard {self.shard.index} of {self.shard.count}: {len(self.places):,} of "
            f"{self.n_whole:,} studies; judge merge joins the shards"
        )
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
        """Return what `plain` gave."""
        places = list(accumulate(map(int, plain["steps"].split())))
        asked = Notes.read(plain["counted"], plain["notes_of_judge"])
        shard = Shard(plain["index"], plain["count"])
        return cls(shard, plain["n_whole"], places, plain["notes_of_input"], asked)
