"""How much a server may send: its replies are measured as they come, on the wire and unpacked."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import httpx2  # comes with openai

MOST_BYTES = 16 * 2**20
"""The longest reply that is read, on the wire and unpacked; of a file, this for each question."""
_PIECE = 2**16
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


class TooLongReplyError(Exception):
    """A reply is longer than may be. Its text says how long that is."""

    def __init__(self, most: int) -> None:
        super().__init__(f"it is longer than {most // 2**20:,} MB")


def bounded(most: int = MOST_BYTES) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a hook for an HTTP client that lets a reply have at most so many bytes.

    The body raises `TooLongReplyError` while it is read, or `httpx2.DecodingError` where it is
    packed in another way than by gzip or deflate: nothing was asked for but plain text.
    """

    async def hook(response: httpx2.Response) -> None:
        packed = response.headers.pop("content-encoding", "identity").strip().lower()
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, packed, most)

    return hook


class _Bounded(httpx2.AsyncByteStream):
    """The plain bytes of a reply, as far as they are no more than may be."""

    def __init__(self, stream: httpx2.AsyncByteStream, packed: str, most: int) -> None:
        self._stream, self._packed, self._most = stream, packed, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpack = _unpacker(self._packed)
        on_the_wire = unpacked = 0
        async for chunk in self._stream:
            on_the_wire += len(chunk)
            if on_the_wire > self._most:
                raise TooLongReplyError(self._most)
            for piece in unpack(chunk):
                unpacked += len(piece)
                if unpacked > self._most:
                    raise TooLongReplyError(self._most)
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _unpacker(packed: str) -> Callable[[bytes], Iterator[bytes]]:
    """Return what unpacks the chunks of a body in pieces, however much is packed in one."""
    if packed == "identity":
        return lambda chunk: iter((chunk,))
    if packed not in ("gzip", "x-gzip", "deflate"):
        raise httpx2.DecodingError(
            f"its encoding is {packed[:40]!r}, which was not asked for"
        )
    inflating = zlib.decompressobj(_GZIP_OR_ZLIB)

    def unpack(chunk: bytes) -> Iterator[bytes]:
        rest = chunk
        while rest and not inflating.eof:
            try:
                yield inflating.decompress(rest, _PIECE)
            except zlib.error as error:
                raise httpx2.DecodingError(f"it is no {packed}: {error}") from error
            rest = inflating.unconsumed_tail

    return unpack
