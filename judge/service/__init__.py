"""The annotation service: runs, studies, reviews and single annotations over HTTP.

Nothing here is imported before `judge serve` or `judge reviews` is called. FastAPI and
uvicorn come with the extra `serve`.
"""

from judge.types import JudgeError


class ProblemError(JudgeError):
    """A request that cannot be met, with the HTTP status to answer it with."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
