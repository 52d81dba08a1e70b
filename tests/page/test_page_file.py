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
from pagemaking import HOSTILE, ROOT, examples, hostile, write_run

from judge import rubrics
from judge.cli import main
from judge.pages.bundle import MARK, RESULTS, source_hash
from judge.pages.run import page
from judge.running.folder import RunFolder

GREEN = rubrics.load("green")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return write_run(
        tmp_path / "run", GREEN, [*examples("green"), hostile(GREEN, HOSTILE)]
    )


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(main, ["page", *map(str, args)])


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
    # Names of namespaces, at which nothing is asked for.
    addresses = re.findall(r"https?:[^\"'`]*", RESULTS.script)
    assert all(name.startswith("http://www.w3.org/") for name in addresses)
    assert not re.search(r"insertAdjacentHTML|document\.write|\beval\b", RESULTS.script)
    sources = [
        file.read_text("utf-8")
        for file in (ROOT / "judge/pages/web/src").rglob("*.*s*")
        if file.suffix in (".ts", ".tsx", ".js")
    ]
    assert len(sources) > 10
    for source in sources:
        assert not re.search(r"innerHTML|outerHTML|InnerHTML", source)
    assert not re.search(r"url\(|@import|https?:|</style", RESULTS.style)
    parts = re.findall(
        r'<script type="text/plain" id="data-([\w-]+)">([\w+/=]*)</script>', text
    )
    data = {k: json.loads(gzip.decompress(base64.b64decode(v))) for k, v in parts}
    ids = [record["study_id"] for record in run.records()]
    first = data["studies"]["columns"][0]
    assert [first["texts"][code] for code in first["codes"]] == ids
    packets = [data[name] for name in data if name.startswith("packet-")]
    assert [view["study_id"] for packet in packets for view in packet] == ids


def test_a_page_is_replaced_and_nothing_else(
    run: RunFolder, write: Callable[..., Result]
) -> None:
    file = run.path.parent / "report.html"
    assert write("run", "--out", "report.html").exit_code == 0
    first = file.read_bytes()
    assert first.startswith(MARK.encode())
    assert write("run", "--out", "report.html").exit_code == 0
    assert file.read_bytes() == first
    file.write_text("my own notes", "utf-8")
    done = write("run", "--out", "report.html")
    assert (done.exit_code, "report.html" in done.stderr) == (2, True)
    assert file.read_text("utf-8") == "my own notes"
    file.unlink()
    for option in (["--sort", "green"], ["--seed", "1"], ["--level", "urgent"]):
        done = write("run", "--out", "report.html", *option)  # of no page of one run
        assert (done.exit_code, option[0] in done.stderr) == (2, True)
    done = write("run", "--out", "no/report.html")
    assert (done.exit_code, "no/report.html" in done.stderr) == (2, True)
    # Half a run gives no page, and leaves nothing behind.
    lines = (run.path / "annotations.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "annotations.jsonl").write_bytes(b"".join(lines[:3]))
    assert write("run", "--out", "report.html").exit_code == 2
    assert [path.name for path in run.path.parent.iterdir()] == ["run"]
