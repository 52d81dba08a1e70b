"""Who is asking what: so that two processes do not pay for the same answer.

A claim is a lock on one byte of a file, at a place that the key decides. The system takes
it back when the process ends, however it ends, so nothing is ever left to clean up.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

_TAKEN = {errno.EACCES, errno.EAGAIN}
# As large as an offset may be.
_PLACES = 2**62


class Claims:
    """The claims of this process on the keys of a cache; raises OSError where the disk fails."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def take(self, name: str) -> bool:
        """Claim a key; returns False where another process has it."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
        return True

    def drop(self, name: str) -> None:
        """Give the claim on a key back."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))

    def close(self) -> None:
        """Give all claims back."""
        os.close(self._file)


def _place(name: str) -> int:
    return int(name[-16:], 16) % _PLACES
