"""The raw answers in a run's folder, as entries of the cache."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from judge.cache.entry import Entry, Unreadable, UnreadableError, checksum, entry_of
from judge.running.asking import Answered
from judge.running.folder import ANNOTATIONS, Run
from judge.running.record import completion_of


def answered_of(part: Mapping[str, Any]) -> Answered | None:
    """Return the answer in a record or in one of its `earlier` ones, None where there is none.

    One that is not what was written, or came from before records held keys, has no key.
    """
    completion = completion_of(part)
    key = part.get("cache_key")
    is_whole = key is not None and part.get("sha256") == checksum(part["answer"])
    return Answered(completion, key if is_whole else None) if completion else None


def entries(run: Run) -> Iterator[Entry | Unreadable]:
    """Yield all answers that `run` was judged by as entries of the cache, earlier attempts too.

    What is damaged is an `Unreadable`; the last of them says where answers have no key.
    Raises `JudgeError` where the run's file cannot be read.
    """
    model, path = run.manifest["judge"]["version"], run.path / ANNOTATIONS
    without = 0
    for number, line in enumerate(run.lines(), 1):
        name = f"{path}, line {number}"
        try:
            record = json.loads(line)
            for part in (*record.get("earlier", ()), record):
                if part.get("cache_key") is None:
                    without += part["answer"] is not None
                    continue
                data = {"key": part["cache_key"], "model": model, "completion": part["answer"]}
                data["sha256"] = part["sha256"]
                yield entry_of(number, part["cache_key"], data, 0.0)
        except UnreadableError as error:
            yield Unreadable(number, name, str(error))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            yield Unreadable(number, name, "not the record of a study")
    if without:
        why = "an earlier version of judge wrote the run, or no cache keeps its judge's answers"
        yield Unreadable(0, str(run.path), f"{without:,} answers have no key of a cache: {why}")
