"""The service: runs, studies, reviews and blind readings over HTTP, with the extra `serve`."""

from judge.types import JudgeError


class ProblemError(JudgeError):
    """A request that cannot be met, with the HTTP status to answer it with."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
