"""How asking a judge can go wrong, by what must follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judge.backends.structured import Mode


class AskError(Exception):
    """A request brought no answer. `reason` is one of a few fixed words, `detail` the server's."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class RefusedError(Exception):
    """The server or the model does not take `what`: a parameter, by its name, or a mode."""

    def __init__(self, what: str | Mode) -> None:
        super().__init__(what)
        self.what = what


class StudyError(AskError):
    """This request can never be answered (too long, filtered): its study fails, the run goes on."""


class TransientError(AskError):
    """The same request may be answered later, after `retry_after` seconds if that is set."""

    def __init__(self, reason: str, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(reason, detail)
        self.retry_after = retry_after


class OverloadError(TransientError):
    """The server is there and asks for fewer requests (429)."""


class UnavailableError(TransientError):
    """Nobody answers: refused, dropped, timed out, or a gateway that has no server behind it."""


class UnreachableError(UnavailableError):
    """Nobody took the connection: whatever was to be asked, it is not to blame."""


class UnreadableReplyError(TransientError):
    """The server answered with no completion. Worth one more try: it does it again."""

    def __init__(self, detail: str) -> None:
        super().__init__("unreadable response", detail)
