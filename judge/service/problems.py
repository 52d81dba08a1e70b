"""Why a request cannot be met: problem details as in RFC 9457. Nothing heavy is imported here."""

from __future__ import annotations

import json
from http import HTTPStatus

from judge.types import JudgeError

MEDIA_TYPE = "application/problem+json"


class ProblemError(JudgeError):
    """A request that cannot be met, with the HTTP status to answer it with."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def body(status: int, detail: str) -> bytes:
    """Return a problem as JSON; any text can be in it, also half a surrogate pair."""
    title = HTTPStatus(status).phrase
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return json.dumps(problem).encode()
