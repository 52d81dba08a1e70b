"""Annotating single pairs in a process of its own: `python -m judge.service.pairs`.

One line of JSON a request on standard input, one a reply on standard output, in any order.
The process ends with its standard input. It is the engine of a run: the same cache, the
same questions, the same outcomes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from judge import backends, rubrics
from judge.backends import Judge
from judge.cache import CompletionCache, place
from judge.rubrics import Rubric
from judge.run.asking import Asker, Effort
from judge.run.classes import with_classes
from judge.run.engine import Answer, Judged, judge_all
from judge.run.prices import Prices
from judge.run.progress import Progress
from judge.run.record import to_record
from judge.run.signature import signature
from judge.run.stop import Stop
from judge.studies import from_columns
from judge.types import Completion, CompletionRequest, JudgeError

# A reader waits for the answer: an outage is theirs to sit out, not ours.
_EFFORT = Effort(max_outage=20.0)
_REQUEST, _JUDGE, _SERVER = 422, 503, 502


class _RefusedError(Exception):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Pairs:
    """Annotates pairs with judges that stay loaded, and asks nothing twice."""

    def __init__(self, cache: Path | None) -> None:
        self._place = cache
        self._cache: CompletionCache | None = None
        self._judges: dict[tuple[str, str, str | None], tuple[Rubric, Judge]] = {}
        self._askers: dict[tuple[str, str, str | None], tuple[Asker, Progress]] = {}
        self._stop = Stop()

    async def annotate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record of one pair, with its signature and the judge's note."""
        which = (asked["judge"], asked["rubric"], asked["prompt"])
        rubric, judge = self._loaded(which, asked["base_url"])
        try:
            studies, source = with_classes(
                from_columns(
                    [asked["reference"]],
                    [asked["candidate"]],
                    study_ids=[asked["study_id"]],
                    fields={} if asked["context"] is None else {"context": [asked["context"]]},
                )
            )
        except JudgeError as error:
            raise _RefusedError(_REQUEST, str(error)) from error
        ends: list[Judged] = []
        progress = Progress(total=1)
        try:
            await judge_all(
                studies,
                judge,
                rubric,
                ends.append,
                answer=self._answer(which, judge),
                stop=self._stop,
                progress=progress,
                reask=0 if judge.is_free else _EFFORT.reask,
            )
        except JudgeError as error:
            self._askers.pop(which, None)  # the next one finds out anew whether the judge is there
            raise _RefusedError(_SERVER, str(error)) from error
        finally:
            if self._stop.why is not None:  # set by an error: it was this pair's own
                self._stop = Stop()
                self._askers.pop(which, None)
        if not ends:
            raise _RefusedError(_SERVER, "asking was stopped before there was an answer")
        return {
            **to_record(ends[0], rubric),
            "rubric": rubric.name,
            "judge": {"name": judge.name, "version": judge.version, "note": judge.note},
            "signature": signature(
                rubric, judge, studies, source, 0 if judge.is_free else _EFFORT.reask
            ),
        }

    def _loaded(
        self, which: tuple[str, str, str | None], base_url: str | None
    ) -> tuple[Rubric, Judge]:
        if which not in self._judges:
            name, rubric_name, prompt = which
            try:
                rubric = rubrics.load(rubric_name)
                settings = backends.Settings(
                    prompt=prompt, base_url=base_url, environ=os.environ, say=_say
                )
                self._judges[which] = (rubric, backends.load(name, rubric, settings))
            except JudgeError as error:
                raise _RefusedError(_JUDGE, str(error)) from error
        return self._judges[which]

    def _answer(self, which: tuple[str, str, str | None], judge: Judge) -> Answer:
        if judge.is_free:

            async def at_once(_at: int, request: CompletionRequest, _n: int) -> Completion:
                return await judge.complete(request)

            return at_once
        if which not in self._askers:
            if self._cache is None:
                try:
                    self._cache = CompletionCache(place(self._place, os.environ))
                except JudgeError as error:
                    raise _RefusedError(_JUDGE, str(error)) from error
            progress = Progress(total=0)
            prices = Prices(judge.version, judge.paid_at)
            asker = Asker(judge, self._cache, prices, _EFFORT, progress, self._stop)
            self._askers[which] = (asker, progress)
        return self._askers[which][0].answer


async def serve(lines: IO[bytes], replies: IO[bytes], cache: Path | None) -> None:
    """Answer requests until `lines` ends."""
    pairs = Pairs(cache)
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def listen() -> None:
        for line in lines:
            loop.call_soon_threadsafe(queue.put_nowait, line)
        loop.call_soon_threadsafe(queue.put_nowait, b"")

    async def reply(asked: dict[str, Any]) -> None:
        try:
            answer: dict[str, Any] = {"record": await pairs.annotate(asked)}
        except _RefusedError as error:
            answer = {"status": error.status, "detail": error.detail}
        replies.write(json.dumps({"id": asked["id"], **answer}).encode() + b"\n")
        replies.flush()

    threading.Thread(target=listen, daemon=True).start()
    under_way: set[asyncio.Task[None]] = set()
    while line := await queue.get():
        task = asyncio.create_task(reply(json.loads(line)))
        under_way.add(task)
        task.add_done_callback(under_way.discard)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Answer on standard output, which nothing else can then write to."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    cache = Path(sys.argv[1]) if sys.argv[1:] else None
    asyncio.run(serve(sys.stdin.buffer, replies, cache))


if __name__ == "__main__":
    main()
