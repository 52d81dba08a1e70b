"""The file of a run: written whole or not at all, one script, one policy, no way out of it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pagemaking import HOSTILE, examples, failed, hostile, write_run

from judge import rubrics
from judge.cli import main
from judge.report.frontend import content_type, source_hash
from judge.report.page import FRONTEND, STATIC
from judge.report.page.file import MARK, html_file
from judge.rubrics import Rubric
from judge.running.folder import Run


@pytest.fixture(scope="module")
def green() -> Rubric:
    return rubrics.load("green")


@pytest.fixture
def run(green: Rubric, tmp_path: Path) -> Run:
    return write_run(tmp_path / "run", green, [*examples("green"), hostile(green, HOSTILE)])


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(main, ["audit", *map(str, args)])


def test_modules_can_be_joined() -> None:
    declared: list[str] = []
    for at, name in enumerate(FRONTEND.scripts):
        text = FRONTEND.files[name].decode("utf-8")
        imported = re.findall(r'from "\./([a-z]+\.js)";', text)
        assert set(imported) <= set(FRONTEND.scripts[:at]), name
        assert len(imported) == len(re.findall(r"^import ", text, re.M))
        declared += re.findall(
            r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", text, re.M
        )
        assert len(text.splitlines()) <= 400
    assert len(declared) == len(set(declared))
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", FRONTEND.script
    )
    assert "</style" not in FRONTEND.style
    assert not re.search(r"url\(|@import|https?:", FRONTEND.style + FRONTEND.script)


def test_assets_are_those_listed() -> None:
    assert {path.name for path in STATIC.iterdir()} == set(FRONTEND.files)
    kinds = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
    for name in FRONTEND.files:
        assert content_type(name) == kinds[Path(name).suffix]
    assert re.fullmatch(r"[0-9a-f]{16}", FRONTEND.digest)


def test_the_policy_lets_in_one_script_and_one_style(run: Run, green: Rubric) -> None:
    text = "".join(html_file(run.summary(), run.table(), run.records(), green))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": source_hash(FRONTEND.script),
        "style-src": source_hash(FRONTEND.style),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script")


def test_no_text_of_the_run_stands_in_the_markup(run: Run, green: Rubric) -> None:
    text = "".join(html_file(run.summary(), run.table(), run.records(), green))
    rest = text.replace(FRONTEND.script, "").replace(FRONTEND.style, "")
    for word in ("onerror", "javascript:", "struck", "effusion", "</textarea"):
        assert word not in rest
    assert len(re.findall(r"<script", rest)) == len(re.findall(r"</script>", rest))


def test_the_data_are_the_run(run: Run, green: Rubric) -> None:
    text = "".join(html_file(run.summary(), run.table(), run.records(), green))
    parts = dict(
        re.findall(r'<script type="text/plain" id="data-([\w-]+)">([\w+/=]*)</script>', text)
    )
    data = {k: json.loads(gzip.decompress(base64.b64decode(v))) for k, v in parts.items()}
    ids = [record["study_id"] for record in run.records()]
    assert data["index"]["columns"]["study_id"] == ids
    assert [
        view["study_id"] for name in data if name.startswith("packet-") for view in data[name]
    ] == ids
    assert list(data)[:2] == ["overview", "index"]


def test_records_are_read_a_packet_at_a_time(run: Run, green: Rubric) -> None:
    taken = 0

    def counted() -> Iterator[dict]:
        nonlocal taken
        record = run.record("ex-001")
        for _ in range(200):
            taken += 1
            yield record

    pieces = html_file(run.summary(), run.table(), counted(), green)
    seen = [taken for _ in islice(pieces, 7)]
    assert seen == [0, 0, 0, 50, 100, 150, 200]
    with pytest.raises(ValueError, match="200 records for a table of 16"):
        next(pieces)


def test_a_page_is_replaced_and_nothing_else(run: Run, audit: Callable[..., Result]) -> None:
    page = run.path.parent / "report.html"
    assert audit("run", "--html", "report.html").exit_code == 0
    assert page.read_text("utf-8").startswith(MARK)
    first = page.read_bytes()
    assert audit("run", "--html", "report.html").exit_code == 0
    assert page.read_bytes() == first
    page.write_text("my own notes", "utf-8")
    done = audit("run", "--html", "report.html")
    assert done.exit_code == 2
    assert "not a page that judge wrote" in done.stderr
    assert page.read_text("utf-8") == "my own notes"


def test_half_a_page_is_no_page(run: Run, audit: Callable[..., Result]) -> None:
    lines = (run.path / "annotations.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "annotations.jsonl").write_bytes(b"".join(lines[:3]))
    done = audit("run", "--html", "report.html")
    assert done.exit_code == 2
    assert "do not fit together" in done.stderr
    assert [path.name for path in run.path.parent.iterdir()] == ["run"]


def test_a_folder_that_is_not_there(run: Run, audit: Callable[..., Result]) -> None:
    done = audit(run.path, "--html", "no/report.html")
    assert done.exit_code == 2
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    "args", [["ex-001", "--html", "x.html"], ["--worst", "2", "--html", "x.html"]]
)
def test_one_thing_at_a_time(run: Run, audit: Callable[..., Result], args: list[str]) -> None:
    assert audit("run", *args).exit_code == 2
    assert not (run.path.parent / "x.html").exists()


@pytest.mark.parametrize("name", rubrics.names())
def test_a_run_without_a_score(name: str, tmp_path: Path) -> None:
    rubric = rubrics.load(name)
    for ends in ([], [failed("f-1")]):
        run = write_run(tmp_path / f"run-{len(ends)}", rubric, ends)
        assert "".join(html_file(run.summary(), run.table(), run.records(), rubric))
