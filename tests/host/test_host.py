"""What a host, an older version or a package does: each ends well, and is said."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cachehelp import ANSWER, fill
from cachehelp import request as asked
from faultserver import Behaviour, FaultServer
from running import Runner, Shell
from support import Invoke, write_json

from judge import JudgeError, RequestPolicy, plugins, rubrics
from judge.backends import lexicon
from judge.backends.connection import Connection
from judge.batching.ledger import RUNNING, Batch, Ledger
from judge.batching.openai import OpenAIBatches
from judge.batching.provider import Result
from judge.cache import key
from judge.cache.answers import checksum
from judge.cache.store import CompletionCache
from judge.studies import from_python
from judge.studies.study_set import attach_context

LEXICON = Path(lexicon.__file__).with_name("lexicon.yaml")


def test_an_edited_lexicon_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    text = LEXICON.read_text("utf-8")
    file.write_text(text, "utf-8")
    first = lexicon.load(file).version
    file.write_text(text + "# edited\n", "utf-8")
    assert lexicon.load(file).version != first
    file.write_text(text, "utf-8")
    assert lexicon.load(file).version == first


def test_numbers_of_numpy_are_numbers() -> None:
    policy = RequestPolicy(
        concurrency=np.int64(4),  # type: ignore[arg-type]
        max_cost=np.float32(0.5),  # type: ignore[arg-type]
        max_outage=3,
    )
    assert (type(policy.concurrency), type(policy.max_cost)) == (int, float)
    for wrong in (True, np.float64(1.5), "4", 0, np.nan):
        with pytest.raises(JudgeError, match="concurrency is a whole number"):
            RequestPolicy(concurrency=wrong)  # type: ignore[arg-type]


def test_a_context_is_in_the_order_of_its_fields() -> None:
    fields = {"sex": ["F"], "age": ["60"], "context": ["Age: 61. Indication: cough"]}
    studies = from_python(["Clear."], ["Clear."], fields=fields)
    named = attach_context(studies, context=["sex", "age"]).study(0).context
    assert list(named.items()) == [("sex", "F"), ("age", "60")]
    usual = attach_context(studies, context=None).study(0).context
    assert list(usual.items()) == [("age", "61"), ("indication", "cough"), ("sex", "F")]


# An older version


def old_run(folder: Path) -> Path:
    """A run of format 2: its lines have no checksum, its answers do."""
    folder.mkdir()
    answer = {"answer": ANSWER.plain(), "sha256": checksum(ANSWER.plain())}
    record = {
        "study_id": "a",
        "study_class": None,
        "class_inferred": False,
        "fields": {},
        "reference": "No effusion.",
        "candidate": "Small effusion.",
        "outcome": "unparsed",
        **answer,
        "cache_key": key(asked("1"), 1),
        "earlier": [{**answer, "cache_key": key(asked("1"))}],
    }
    changed = {**record, "sha256": "0" * 64, "earlier": []}
    lines = "".join(json.dumps(each) + "\n" for each in (record, changed))
    (folder / "annotations.jsonl").write_text(lines)
    manifest = {
        "format": 2,
        "signature": "green:1|judge:m|prompt:p@1+0|sampling:t=0|version:0",
    }
    manifest |= {
        "rubric": "green",
        "judge": {"name": "m", "version": "m"},
        "fields": [],
    }  # type: ignore[dict-item]
    manifest |= {"section": "report", "inputs": []}  # type: ignore[dict-item]
    write_json(folder / "manifest.json", manifest)
    return folder


def test_answers_of_an_older_run_are_taken_in(tmp_path: Path, invoke: Invoke) -> None:
    old = old_run(tmp_path / "old")
    done = invoke("cache", "import", old, "--cache", tmp_path / "c")
    assert done.exit_code == 1
    assert "2 entries added" in done.stderr
    assert "line 2: its answer is not the one that was written" in done.stderr
    with CompletionCache(tmp_path / "c") as cache:
        assert cache.get(key(asked("1"), 1)) == cache.get(key(asked("1"))) == ANSWER


def test_the_studies_of_an_older_run_are_judged_again(
    tmp_path: Path, invoke: Invoke
) -> None:
    old = old_run(tmp_path / "old")
    lines = (old / "annotations.jsonl").read_text().splitlines(keepends=True)
    (old / "annotations.jsonl").write_text(lines[0])
    done = invoke("green", old, "--out", "again")
    assert done.exit_code == 0, done.stderr
    assert "damaged" not in done.stderr


def test_that_a_cache_is_upgraded_is_said_once(tmp_path: Path, invoke: Invoke) -> None:
    import gzip

    old, path = Path(__file__).parents[1] / "cache" / "old_cache.db.gz", tmp_path / "c"
    path.mkdir()
    (path / "cache.db").write_bytes(gzip.decompress(old.read_bytes()))
    fill(tmp_path / "d", 1)
    said = [
        invoke("cache", "import", tmp_path / "d", "--cache", path).stderr
        for _ in range(2)
    ]
    assert ["upgraded for good" in text for text in said] == [True, False]


def test_imported_answers_and_batches_teach_the_dry_run(tmp_path: Path) -> None:
    with FaultServer(Behaviour()) as server:
        server.batches.polls = 1
        ready = Shell(tmp_path, server.url, "green")
        ready.write(4)
        code, _, err = ready.run("--batch", "--batch-poll", "0.05", "--out", "run")
        assert code == 0, err
        assert "unknown: the cache has no answer" not in ready.run("--dry-run")[1]
        for source in ("cache", "run"):
            assert (
                ready.judge("cache", "import", source, "--cache", f"of-{source}")[0]
                == 0
            )
            options = ("--dry-run", "--cache", f"of-{source}", "--limit", "2")
            assert "unknown: the cache has no answer" not in ready.run(*options)[1], (
                source
            )


# Keys


def test_cancelling_sends_the_key_only_to_the_named_server(
    tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hostile import Hostile, reply

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with Hostile(reply({"id": "batch_1", "status": "cancelling"})) as server:
        batch = Batch(
            id="b-1",
            run="r",
            rubric="green",
            judge="m",
            kind="k",
            server=server.url,
            mode=None,
            command="judge green",
            created="2026-01-01",
            state=RUNNING,
            remote_id="batch_1",
        )
        with Ledger(tmp_path / "c") as ledger:
            ledger.put(batch)
        done = invoke("batch", "cancel", "b-1", "--cache", tmp_path / "c")
        assert done.exit_code == 2
        assert f"--base-url {server.url}" in done.stderr
        assert server.requests == []
        invoke(
            "batch",
            "cancel",
            "b-1",
            "--cache",
            tmp_path / "c",
            "--base-url",
            server.url,
        )
        assert server.requests


def test_the_key_is_masked_in_a_batch_s_error() -> None:
    said = "no sk-secret-key"
    result = Result(id="q", status=None, reason="bad sk-secret-key", detail=said)
    server = Connection("http://127.0.0.1:1/v1")
    provider = OpenAIBatches(server, "sk-secret-key", "OPENAI_API_KEY")
    with pytest.raises(Exception, match=r"bad \*\*\*") as caught:
        provider.completion(result, {}, None)
    assert "sk-secret-key" not in str(caught.value)


# Packages


MODULE = """
from judge.backends import Judge
from judge.types import Completion, CompletionRequest, Message, Usage
class Odd(Judge):
    name = version = "odd-1"
    def request(self, study):
        return CompletionRequest("chat", "odd-1", (Message("user", study.candidate),))
    async def complete(self, request):
        {work}
def load(name, rubric, settings): return Odd()
"""


@pytest.mark.parametrize(
    ("work", "says"),
    [
        ("raise SystemExit(0)", "failed in complete: SystemExit"),
        ("raise KeyError('k')", "failed in complete: KeyError: 'k'"),
        ("return None", "returns None from complete"),
        ("return Completion(None, 'stop', 'm')", "returns Completion("),
        (
            "return Completion('t', 'stop', 'm', {'prompt_tokens': 1})",
            "returns Completion(",
        ),
    ],
)
def test_a_package_s_judge_that_fails_is_one_message(
    tmp_path: Path,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    work: str,
    says: str,
) -> None:
    info = tmp_path / "site" / "odd-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[judge.backends]\nodd = odd_judge:load\n")
    (tmp_path / "site" / "odd_judge.py").write_text(MODULE.format(work=work))
    monkeypatch.syspath_prepend(tmp_path / "site")
    sys.modules.pop("odd_judge", None)
    plugins.installed.cache_clear()
    reports = write_json(tmp_path / "reports.json", {"a": "No effusion."})
    try:
        done = invoke(
            "green", reports, reports, "--judge", "odd:x", "--cache", "c", "--out", "r"
        )
    finally:
        plugins.installed.cache_clear()
    assert done.exit_code == 2, done.output
    assert f"the judge 'odd' of the package odd 1.0 {says}" in done.stderr
    assert not (tmp_path / "r").exists()


def test_a_study_about_which_nothing_is_asked_has_failed(tmp_path: Path) -> None:
    from dataclasses import replace

    rubric = rubrics.load("facts")
    assert rubric.steps is not None
    nothing: Callable[..., list[object]] = lambda _study, _answers: []  # noqa: E731 - a stand-in
    steps = replace(rubric.steps, coming=nothing)  # type: ignore[arg-type]
    with FaultServer(Behaviour()) as server:
        ends, _ = Runner(server, replace(rubric, steps=steps), tmp_path / "c")(2)
    assert {end.outcome.reason for end in ends.values()} == {"nothing to ask"}  # type: ignore[union-attr]
