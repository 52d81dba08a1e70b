"""The file of a run: written whole or not at all, one script, one policy, no way out of it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pagemaking import HOSTILE, examples, hostile, write_run

from judge import rubrics
from judge.cli import main
from judge.pages.bundle import RESULTS, source_hash
from judge.pages.run import MARK, page
from judge.running.folder import RunFolder

GREEN = rubrics.load("green")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return write_run(
        tmp_path / "run", GREEN, [*examples("green"), hostile(GREEN, HOSTILE)]
    )


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(main, ["audit", *map(str, args)])


def test_the_file_has_the_run_and_lets_in_one_script_and_one_style(
    run: RunFolder,
) -> None:
    text = "".join(page(run))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": source_hash(RESULTS.script),
        "style-src": source_hash(RESULTS.style),
        "img-src": "blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert (
        text.index("Content-Security-Policy")
        < text.index("<style>")
        < text.index("<script")
    )
    rest = text.replace(RESULTS.script, "").replace(RESULTS.style, "")
    for word in ("onerror", "javascript:", "struck", "effusion", "</textarea"):
        assert word not in rest
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|https?:",
        RESULTS.script,
    )
    assert not re.search(r"url\(|@import|https?:|</style", RESULTS.style)
    parts = re.findall(
        r'<script type="text/plain" id="data-([\w-]+)">([\w+/=]*)</script>', text
    )
    data = {k: json.loads(gzip.decompress(base64.b64decode(v))) for k, v in parts}
    ids = [record["study_id"] for record in run.records()]
    assert data["index"]["columns"]["study_id"] == ids
    packets = [data[name] for name in data if name.startswith("packet-")]
    assert [view["study_id"] for packet in packets for view in packet] == ids


def test_a_page_is_replaced_and_nothing_else(
    run: RunFolder, audit: Callable[..., Result]
) -> None:
    file = run.path.parent / "report.html"
    assert audit("run", "--html", "report.html").exit_code == 0
    first = file.read_bytes()
    assert first.startswith(MARK.encode())
    assert audit("run", "--html", "report.html").exit_code == 0
    assert file.read_bytes() == first
    file.write_text("my own notes", "utf-8")
    done = audit("run", "--html", "report.html")
    assert (done.exit_code, "report.html" in done.stderr) == (2, True)
    assert file.read_text("utf-8") == "my own notes"
    file.unlink()
    for args in (["run", "ex-001"], ["run", "--rows", "2"]):  # one thing at a time
        assert audit(*args, "--html", "report.html").exit_code == 2
    done = audit("run", "--html", "no/report.html")
    assert (done.exit_code, "no/report.html" in done.stderr) == (2, True)
    # Half a run gives no page, and leaves nothing behind.
    lines = (run.path / "annotations.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "annotations.jsonl").write_bytes(b"".join(lines[:3]))
    assert audit("run", "--html", "report.html").exit_code == 2
    assert [path.name for path in run.path.parent.iterdir()] == ["run"]
