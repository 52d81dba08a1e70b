"""Files and batches in a test's hand.

    with FaultServer() as server:
        ...                                   # upload and create, as any client of server.url
        server.batches.advance(1860)          # in progress, half of its lines answered
        server.batches.finish()               # completed: output and error file are there
        stats = server.batches.stats()
        assert set(stats.created.values()) == {1}    # every custom_id was put into one batch
        assert set(stats.paid.values()) == {1}       # and answered once, there or over chat

A batch's clock stands still until the test turns it: by `advance`, `step` (each batch to its
next state) or `finish`. For a command line run that nobody turns the clock for:
`FaultServer(batching=Batching(polls=3))`, or `seconds=2`, or `server.batches.set(polls=3)`.

What the next batches meet, one each, is told before they are created:
`server.batches.next(BatchPlan(ending="expired", share=0.4), BatchPlan(lost=2, cut=True))`.
What requests meet: `server.batches.meet("create_batch", first(Fault.RATE_LIMIT, Fault.DROP))`;
with `after=True` the request is carried out and only its reply is lost.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faultserver.batching import Batching, BatchPlan
from faultserver.faults import StudyPlan


@dataclass(frozen=True, slots=True)
class BatchStats:
    """What was done with files and batches since the start or the last `server.reset()`.

    `requests` counts all requests for each of `ENDPOINTS`, `uploads` and `creates` those that
    made a file or a batch. By custom_id: `created` says in how many created batches it
    stood, whatever became of them; `answered` how often a batch answered it with status 200
    (a line that stands in the output file twice counts once; one lost in the end with `cut`
    counts); `failed` how often it was answered with an error; `direct` how often the very
    same request was answered over chat or completions (for custom_ids of created batches).
    `studies` has the study of each custom_id that was answered. `tokens` are those billed in
    batches: of prompts, cached ones among them, of completions.
    """

    requests: dict[str, int]
    uploads: int
    creates: int
    created: dict[str, int]
    answered: dict[str, int]
    failed: dict[str, int]
    direct: dict[str, int]
    studies: dict[str, str]
    tokens: list[int]

    @property
    def paid(self) -> Counter[str]:
        """How often each custom_id was answered with status 200, in a batch or directly."""
        return Counter(self.answered) + Counter(self.direct)


class BatchHandle:
    """The part of a `FaultServer` that is about batches."""

    def __init__(self, ask: Callable[..., Any], batching: Batching) -> None:
        self._ask = ask
        self.batching = batching

    def set(self, **changes: Any) -> None:
        """Change fields of `Batching`, from the next request on."""
        self.batching = dataclasses.replace(self.batching, **changes)
        self._do("set", **dataclasses.asdict(self.batching))

    def advance(self, seconds: float) -> None:
        """Let every batch live `seconds` longer, through whatever states that takes it."""
        self._do("advance", seconds=seconds)

    def step(self, batch: str | None = None) -> None:
        """Move the batch with this id, or every one, to its next state."""
        self._do("step", id=batch)

    def finish(self, batch: str | None = None) -> None:
        """Move the batch with this id, or every one, to its end."""
        self._do("finish", id=batch)

    def cancel(self, batch: str | None = None) -> None:
        """Begin to cancel the batch with this id, or every one, as its owner could elsewhere."""
        self._do("cancel", id=batch)

    def next(self, *plans: BatchPlan) -> None:
        """Give a plan each to the batches that are created next."""
        self._do("next", plans=[dataclasses.asdict(plan) for plan in plans])

    def meet(self, endpoint: str, plan: StudyPlan, *, after: bool = False) -> None:
        """Say what the requests for one of `ENDPOINTS` meet from now on, in turn.

        With `after` they are carried out first, and the fault takes the reply's place.
        """
        others = tuple(each for each in self.batching.after if each != endpoint)
        self.set(
            endpoints={**self.batching.endpoints, endpoint: plan},
            after=(*others, endpoint) if after else others,
        )
        self._do("restart", endpoint=endpoint)

    def clear(self) -> None:
        """Forget all files, batches and plans; what was counted stays counted."""
        self._do("clear")

    def stats(self) -> BatchStats:
        """Return what was counted."""
        return BatchStats(**self._do("seen")["counts"])

    def all(self) -> list[dict[str, Any]]:
        """Return every batch, hidden or not, oldest first, as the API has it, and more.

        `custom_ids` in the order of its file, its `tokens`, and in `lost` the custom_ids of
        lines that were answered and that neither file has, or only in part.
        """
        return list(self._do("seen")["batches"])

    def _do(self, action: str, **given: Any) -> Any:
        return self._ask("POST", f"/control/batches/{action}", given)
