"""How the server behaves with batches: values that go over the wire as JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from faultserver.behaviour import plan_from
from faultserver.faults import Fault, StudyPlan

_MET = (
    *(Fault.RATE_LIMIT, Fault.SERVER_ERROR, Fault.BAD_GATEWAY, Fault.UNAVAILABLE, Fault.DROP),
    *(Fault.RESET, Fault.CUT_BODY, Fault.STALL, Fault.STALL_BODY, Fault.HTML, Fault.BROKEN_JSON),
    *(Fault.WRONG_KEY, Fault.FORBIDDEN, Fault.NO_QUOTA),
)
Ending = Literal["completed", "failed", "expired", "cancelled", "stays"]

ENDPOINTS = (
    *("upload_file", "list_files", "get_file", "get_content", "delete_file"),
    *("create_batch", "list_batches", "get_batch", "cancel_batch"),
)
"""The names of what clients can ask for, in `Batching.endpoints` and in the counts."""

FAILURES: dict[str, tuple[str, str | None, bool]] = {
    "invalid_json_line": ("This line is not parseable as valid JSON.", None, True),
    "missing_required_parameter": ("Missing required parameter: '{}'.", "custom_id", True),
    "duplicate_custom_id": (
        (
            "The custom_id for this request is a duplicate of another request. The custom_id "
            "parameter must be unique for each request in a batch."
        ),
        "custom_id",
        True,
    ),
    "invalid_method": ("The method of this request is not supported: use POST.", "method", True),
    "invalid_url": (
        "The URL provided for this request does not match the batch endpoint.",
        "url",
        True,
    ),
    "mismatched_model": (
        (
            "The model of this request does not match the rest of the batch. Each batch must "
            "contain requests for a single model."
        ),
        "body.model",
        True,
    ),
    "model_not_found": (
        "The provided model is not supported by the Batch API.",
        "body.model",
        True,
    ),
    "empty_file": ("The input file has no requests.", None, False),
    "max_requests_exceeded": ("The input file has more requests than are allowed.", None, False),
    "token_limit_exceeded": (
        (
            "Enqueued token limit reached for {} in organization org-test. Limit: {:,} enqueued "
            "tokens. Please try again once some in_progress batches have been completed."
        ),
        None,
        False,
    ),
}
"""What a batch can fail on: message, param, and whether it is said of a line."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What one batch meets.

    It ends as `ending`: `failed` in its validation, on the `failure` (see `FAILURES`);
    `expired` and `cancelled` (by somebody else) when `share` of its lines are answered;
    `stays` never ends, and stays in progress with that share. A client may cancel any.

    Of its lines, chosen by seed and no line twice: `lost` are in neither file, `twice` stand
    in the output file twice, `timeouts` have the error `request_timeout` and no response,
    and `faults` says how many meet which fault, before what their study's plan has for
    them. `unknown` lines are added with a custom_id that nobody asked. `cut` ends the
    output file in the middle of its last line.

    The list has it from `listed_after` seconds of its life on, and not in the first
    `hidden_lists` listings.
    """

    ending: Ending = "completed"
    share: float = 1.0
    failure: str = "invalid_json_line"
    lost: int = 0
    twice: int = 0
    timeouts: int = 0
    unknown: int = 0
    faults: Mapping[Fault, int] = field(default_factory=dict)
    cut: bool = False
    listed_after: float = 0.0
    hidden_lists: int = 0

    def __post_init__(self) -> None:
        if self.ending not in get_args(Ending):
            raise ValueError(f"ending: unknown {self.ending}")
        if self.failure not in FAILURES:
            raise ValueError(f"failure: unknown {self.failure}")
        if not 0 <= self.share <= 1:
            raise ValueError("share: from 0 to 1")


@dataclass(frozen=True, slots=True)
class Batching:
    """Everything about files and batches that can be changed while the server runs.

    Time. A batch is `validating`, then in progress for `working` seconds if it is to be
    completed, `finalizing`, and `cancelling` so long, and expires after `window`. Its clock
    stands still: the test turns it. With `polls`, it also goes on by itself, so that a batch
    is at its end at its `polls`th poll (it is asked for, or listed); with `seconds`, so that it
    is at its end that many real seconds after it was created.

    `plan` is what a batch meets that has no plan of its own. `endpoints` are what the requests
    for each of `ENDPOINTS` meet in turn: an error (429, 500, 503, ...), `drop`, `stall`,
    `cut_body`, `html`, ... In `after` are those endpoints at which the request is carried out first
    and the fault then takes the reply's place.

    A batch fails on `token_limit_exceeded` when the batches of its model that have not ended
    would have more than `token_limit` tokens with it (a token is four bytes of its file), or
    be more than `batch_limit`. Files have at most `max_requests` and `max_bytes`.
    """

    validating: float = 60.0
    working: float = 3600.0
    finalizing: float = 60.0
    cancelling: float = 60.0
    window: float = 86400.0
    polls: int | None = None
    seconds: float | None = None
    plan: BatchPlan = field(default_factory=BatchPlan)
    endpoints: Mapping[str, StudyPlan] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    token_limit: int | None = None
    batch_limit: int | None = None
    max_requests: int = 50_000
    max_bytes: int = 200 * 1024 * 1024

    def __post_init__(self) -> None:
        if unknown := {*self.endpoints, *self.after} - {*ENDPOINTS}:
            raise ValueError(f"endpoints: unknown {unknown}; there are {', '.join(ENDPOINTS)}")
        met = {fault for plan in self.endpoints.values() for fault in (*plan.first, plan.then)}
        if others := met - {None, *_MET}:
            raise ValueError(f"endpoints: {others} can happen to completions only")
        if self.polls == 0 or self.seconds == 0:
            raise ValueError("polls, seconds: more than 0, or None for a clock that stands still")

    def life(self, plan: BatchPlan) -> float:
        """Return how many seconds a batch with this plan lives; one that stays: is worked on."""
        if plan.ending == "failed":
            return self.validating
        if plan.ending == "expired":
            return self.window
        worked = self.validating + self.working
        if plan.ending == "cancelled":
            return self.validating + self.working * plan.share + self.cancelling
        return worked if plan.ending == "stays" else worked + self.finalizing


def batch_plan_from(data: Mapping[str, Any]) -> BatchPlan:
    """Return the plan that is `data` in JSON; raises `ValueError` or `TypeError`."""
    faults = {Fault(name): int(number) for name, number in data.get("faults", {}).items()}
    return BatchPlan(**{**data, "faults": faults})


def batching_changed(base: Batching, changes: Mapping[str, Any]) -> Batching:
    """Return `base` with `changes` as they come from JSON.

    Raises `ValueError` or `TypeError` for what cannot be.
    """
    if unknown := set(changes) - {each.name for each in fields(Batching)}:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    values = dict(changes)
    if "plan" in values:
        values["plan"] = batch_plan_from(values["plan"])
    if "endpoints" in values:
        values["endpoints"] = {name: plan_from(plan) for name, plan in values["endpoints"].items()}
    if "after" in values:
        values["after"] = tuple(values["after"])
    return replace(base, **values)
