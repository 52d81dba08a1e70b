"""A service in a process of its own, on a real socket, and runs for it to show."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import httpx
from support import EXAMPLES

from judge.readers.annotation_store import read_entries
from judge.study.reviews import REVIEWS, Event

PATIENCE = 60.0
RATING = "RATING-OF-ANOTHER"
REVIEWS_AT = "/v1/runs/example-run/reviews"
COMMENT = {
    "study_id": "ex-001",
    "reader": "anna",
    "verdict": "comment",
    "comment": "Clear.",
}


class Served:
    """`judge serve` from `with` to its end; `client` speaks to it."""

    program = (sys.executable, "-m", "judge")

    def __init__(
        self, folder: Path, *arguments: object, environ: dict[str, str] | None = None
    ):
        self.folder = folder
        self._arguments = list(map(str, arguments))
        self._environ = environ or {}
        self._log = folder / "service.log"

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self, port: str = "0") -> None:
        command = [*self.program, "serve", "--port", port, *self._arguments]
        clean = {
            k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "JUDGE"))
        }
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    *command,
                    *([] if "--cache" in self._arguments else ["--cache", "cache"]),
                ],
                cwd=self.folder,
                stderr=log,
                env=clean | self._environ,
            )
        found = until(
            lambda: re.search(r"Serving at (http://\S+)/", self.said) or self._ended()
        )
        assert isinstance(found, re.Match), self.said
        self.url = found[1]
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE)

    def _ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def said(self) -> str:
        return self._log.read_text("utf-8")

    def kill(self) -> None:
        """End it as a power cut would."""
        self.client.close()
        self.process.kill()
        self.process.wait()

    def __exit__(self, *exc: object) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(PATIENCE)

    def start_run(
        self, n: int | None = None, *, to: str = "/v1/runs", **form: object
    ) -> httpx.Response:
        """Upload the examples, or n studies whose references say their ids."""
        sides = ("preds", "refs")
        files = {
            side: (f"{side}.json", (EXAMPLES / f"{side}.json").read_bytes())
            for side in sides
        }
        if n is not None:
            ids = [f"study-{at:04}" for at in range(n)]
            refs = {key: f"{key}. The lungs are clear." for key in ids}
            preds = dict.fromkeys(ids, "The lungs are clear. Small left effusion.")
            files["preds"] = ("preds.json", json.dumps(preds).encode())
            files["refs"] = ("refs.json", json.dumps(refs).encode())
        return self.client.post(to, data={"rubric": "green"} | form, files=files)

    def run(self, name: str) -> dict[str, Any]:
        run: dict[str, Any] = self.client.get(f"/v1/runs/{name}").json()["run"]
        return run

    def until_state(self, name: str, *states: str) -> dict[str, Any]:
        def there() -> dict[str, Any] | None:
            run = self.run(name)
            return run if run["state"] in states else None

        found = until(there)
        assert found, self.run(name)
        return found


def until(there: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """What `there` gives as soon as it gives something; None when patience ends."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if found := there():
            return found
        time.sleep(0.05)
    return None


def all_events(run: Path) -> list[Event]:
    """What was said in the reviews of a run, also what counts no longer."""
    return [*read_entries(run / REVIEWS, Event)]


def is_problem(answer: httpx.Response, status: int) -> str:
    """Check that an answer is problem details of that status; returns what it says."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail"}
    assert problem["status"] == status
    assert "Traceback" not in problem["detail"]
    return str(problem["detail"])


def readable(folder: Path, rubric: str = "green", n: int = 3) -> Path:
    """A run of the examples called `mine`, of which n are drawn to be read, with own fields.

    The commands run in processes of their own: that of a browser has an event loop already.
    """
    refs: dict[str, Any] = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    for at, record in enumerate(refs.values()):
        record |= {"indication": "Cough for three days.", "rating": f"{RATING} {at}"}
    (folder / "refs.json").write_text(json.dumps(refs), "utf-8")
    out = folder / "mine"
    for command in (
        (rubric, EXAMPLES / "preds.json", folder / "refs.json", "--out", out),
        ("readers", "sample", out, "--limit", n, "--strata", "indication"),
    ):
        subprocess.run([sys.executable, "-m", "judge", *map(str, command)], check=True)
    return out
