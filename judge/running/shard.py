"""A part of a set of studies that one run judges."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from judge.run_files.entries import ShardEntry
from judge.studies import StudySet
from judge.types import JudgeError


def shard_of(study_id: str, count: int) -> int:
    """Return the shard, from 1, that a study falls in: by its id and how many there are alone."""
    digest = hashlib.sha256(study_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest) % count + 1


@dataclass(frozen=True, slots=True)
class Shard:
    """The `index`-th of `count` parts of a set, from 1; written 3/8."""

    index: int
    count: int

    @classmethod
    def of(cls, value: object) -> Shard:
        """Return the shard that a user names, as `3/8` or (3, 8); raises `JudgeError`."""
        text = "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
        if match := re.fullmatch(r"\s*(\d{1,9})/(\d{1,9})\s*", text, re.ASCII):
            shard = cls(*map(int, match.groups()))
            if 1 <= shard.index <= shard.count:
                return shard
        raise JudgeError(
            f"{value!r} is no shard: write I/N, such as 3/8 for the third of eight"
        )

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def rows(self, studies: StudySet) -> list[int]:
        """Return which rows of `studies` fall in this shard."""
        ids = enumerate(studies.study_ids)
        return [row for row, name in ids if shard_of(name, self.count) == self.index]

    def entry(self, studies: StudySet, notes: Sequence[str]) -> ShardEntry:
        """Return what its manifest says to be merged by; `notes` are about all studies."""
        return ShardEntry(
            index=self.index,
            count=self.count,
            n_whole=len(studies),
            places=" ".join(map(str, self.rows(studies))),
            notes_of_input=list(notes),
        )
