"""The server as a process of its own: `python -m faultserver --port 8000 --behaviour '{...}'`."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

if not __package__:
    # Run by its path: the package's own folder must not be on the path, its parent must.
    sys.path[0] = str(Path(__file__).parents[1])

from faultserver.answers import ANNOTATE
from faultserver.batching import Batching, batching_changed
from faultserver.behaviour import Behaviour, changed
from faultserver.launch import HOST, Parts, named, run


def main() -> None:
    """Print one line of JSON when ready (`url`, `port`, `control_port`), then serve."""
    parser = argparse.ArgumentParser(prog="faultserver", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--behaviour", default="{}", help="fields of Behaviour as JSON, or @FILE")
    parser.add_argument(
        "--batching",
        default="{}",
        help="fields of Batching as JSON, or @FILE; "
        'with {"polls": 5} or {"seconds": 60} batches go on by themselves',
    )
    parser.add_argument("--rubric", default="green", help="answer in this rubric's format")
    parser.add_argument("--render", help="module:function that writes the answers instead")
    parser.add_argument("--annotate", help="module:function; by default the rubric's own")
    parser.add_argument("--decode", default="faultserver.launch:characters")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    options = parser.parse_args()
    behaviour = changed(Behaviour(), _given(options.behaviour))
    batching = batching_changed(Batching(), _given(options.batching))
    parts = Parts(
        options.rubric,
        named(options.render) if options.render else None,
        named(options.annotate) if options.annotate else ANNOTATE[options.rubric],
        named(options.decode),
    )
    asyncio.run(_serve(parts, behaviour, batching, options.port, until_eof=options.until_eof))


def _given(text: str) -> Any:
    return json.loads(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)


async def _serve(
    parts: Parts, behaviour: Behaviour, batching: Batching, port: int, *, until_eof: bool
) -> None:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, done.set)
    if until_eof:
        await loop.connect_read_pipe(lambda: _Eof(done), sys.stdin)

    def ready(port: int, control_port: int) -> None:
        line = {"url": f"http://{HOST}:{port}/v1", "port": port, "control_port": control_port}
        print(json.dumps(line), flush=True)

    await run(parts, behaviour, port, ready, done, batching)


class _Eof(asyncio.Protocol):
    """Ends the server when nobody holds the other end of its standard input any more."""

    def __init__(self, done: asyncio.Event) -> None:
        self._done = done

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._done.set()


if __name__ == "__main__":
    main()
