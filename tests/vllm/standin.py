#!/usr/bin/env python3
"""Stands in for `vllm`: the same command line and address, no model, and trouble on demand.

Tests put a script that runs this file where the program looks for `vllm`. The environment says
what it does: STANDIN_LOG is a file whose text it writes and then ends with status 1, STANDIN_HANGS
makes it never ready, STANDIN_CRASHES ends it after so many answers, STANDIN_LAST_WORDS makes it say
status 500 before that end, STANDIN_STARTS lets it start only while STANDIN_TALLY is no longer than
that, STANDIN_DELAY is how many seconds an answer takes, STANDIN_WAITS a file for whose end all
answers wait, and STANDIN_TALLY a file to which each answered question is added.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(prog="vllm")
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("model")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    options, _ = parser.parse_known_args()
    environ = os.environ
    print(f"started with {json.dumps(sys.argv[1:])}", flush=True)
    if log := environ.get("STANDIN_LOG"):
        print(Path(log).read_text("utf-8"), flush=True)
        sys.exit(1)
    if most := environ.get("STANDIN_STARTS"):
        tally = Path(environ["STANDIN_TALLY"])
        if tally.exists() and len(tally.read_text("utf-8").splitlines()) >= int(most):
            print("RuntimeError: no memory left", flush=True)
            sys.exit(1)
    subprocess.Popen(["sleep", "600"])  # a child of its own, as a model server has
    while "STANDIN_HANGS" in environ:
        time.sleep(0.1)
    Handler.model = options.model
    Handler.crashes = int(environ.get("STANDIN_CRASHES", "-1"))
    ThreadingHTTPServer((options.host, options.port), Handler).serve_forever()


def note(file: str, asked: object) -> None:
    """Add a question to a file."""
    with Path(file).open("a", encoding="utf-8") as tally:
        tally.write(json.dumps([os.getpid(), asked]) + "\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = ""
    crashes = -1
    answers = 0

    def do_GET(self) -> None:
        self.send(200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {os.environ['VLLM_API_KEY']}":
            self.send(401, {"error": "Unauthorized"})
            return
        if Handler.answers >= self.crashes >= 0:
            print("RuntimeError: the stand-in fell over", flush=True)
            if "STANDIN_LAST_WORDS" in os.environ:
                self.send(500, {"error": {"message": "EngineDeadError", "code": 500}})
                time.sleep(0.5)
            os._exit(1)
        Handler.answers += 1
        asked = body.get("prompt") or body["messages"][-1]["content"]
        tally = os.environ.get("STANDIN_TALLY")
        time.sleep(float(os.environ.get("STANDIN_DELAY", "0")))
        while (waits := os.environ.get("STANDIN_WAITS")) and Path(waits).exists():
            time.sleep(0.05)
        note(tally or os.devnull, asked)
        said = f"answer to {asked}"
        chat = {"message": {"role": "assistant", "content": said}}
        choice = {"text": said} if "prompt" in body else chat
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        choices = [{"index": 0, "finish_reason": "stop", **choice}]
        self.send(200, {"model": self.model, "choices": choices, "usage": usage})

    def send(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args: object) -> None:
        return


if __name__ == "__main__":
    main()
