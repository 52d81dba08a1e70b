"""What is not merged: one message each, and nothing written."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cluster.clusterhelp import in_shards, judged, manifest
from support import EXAMPLES, Invoke, write_json

from judge import JudgeError, rubrics
from judge.cli.judging import command_for
from judge.cli.merge import again
from judge.running.folder import Run
from judge.running.merging import merge
from judge.running.shards import Shard
from judge.studies import StudySet, read_pair

Edit = Callable[[dict[str, Any]], object]


def examples(preds: str = "preds.json") -> StudySet:
    return read_pair(str(EXAMPLES / preds), str(EXAMPLES / "refs.json"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards of the examples, and runs that are no fourth."""
    folder = tmp_path_factory.mktemp("made")
    in_shards(examples(), folder, 3)
    judged(examples(), folder / "whole")
    judged(examples(), folder / "of-four", shard=Shard(2, 4))
    judged(examples(), folder / "other-rubric", shard=Shard(2, 3), rubric="fineradscore")
    judged(examples("preds_alder.json"), folder / "other-set", shard=Shard(2, 3))
    judged(examples(), folder / "by-site", shard=Shard(2, 3), by=("site",))
    (folder / "nothing").mkdir()
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def refused(folder: Path, *names: str) -> str:
    """The message with which shards are refused, that nothing was written."""
    with pytest.raises(JudgeError) as error:
        merge([Run(folder / name) for name in names], folder / "out")
    assert not (folder / "out").exists()
    return str(error.value)


def edited(run: Path, edit: Edit) -> None:
    found = manifest(run)
    edit(found)
    (run / "manifest.json").write_text(json.dumps(found), "utf-8")


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ("shard-1", "shard 1/3 is there twice: .*shard-1 and .*shard-1"),
        ("whole", "whole is the run of no shard: it was judged without --shard"),
        ("of-four", "different sizes: .*shard-1 is shard 1/3, .*of-four shard 2/4"),
        ("other-rubric", "different runs: the rubric is green:2 in .* and fineradscore:"),
        ("other-set", r"different runs: the set of studies is 15\+\w+ in .* and 15\+\w+ in"),
        ("by-site", "group their rates by other fields: .*say which, --by"),
        ("shard-2", "shard 3 of 3 is missing: judge it too"),
    ],
)
def test_runs_that_are_not_shards_of_one_run(made: Path, second: str, why: str) -> None:
    rest = ["shard-3"] if second == "by-site" else []
    with pytest.raises(JudgeError, match=why):
        merge([Run(made / name) for name in ("shard-1", second, *rest)], made / "out")
    assert not (made / "out").exists()


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda m: m.update(signature=_part(m, "version", "0.0.9")), "the version of judge is"),
        (lambda m: m.update(signature=_part(m, "judge", "lexicon-1")), "the judge is"),
        (lambda m: m.update(signature=_part(m, "class", "other")), "source of the study classes"),
        (lambda m: m.update(model="zebra"), "the model that is judged is preds in .* and zebra"),
        (lambda m: m.update(fields=["site"]), "the fields of the studies is"),
        (lambda m: m["shard"].update(n_whole=16), "a set of another size"),
        (lambda m: m.pop("spent"), "manifest.json is damaged: spent"),
        (lambda m: m["spent"].update(asked="many"), "damaged: spent: 'asked'"),
        (lambda m: m["shard"].update(steps="0 1"), "two shards have a study in place 1 of"),
        (lambda m: m["shard"].update(steps=m["shard"]["steps"][:-2]), "is not of shard 2/3"),
        (lambda m: m["shard"].update(index=3), "is there twice"),
    ],
)
def test_a_shard_that_was_changed(folder: Path, edit: Edit, why: str) -> None:
    edited(folder / "shard-2", edit)
    with pytest.raises(JudgeError, match=why):
        merge([Run(folder / f"shard-{at}") for at in (1, 2, 3)], folder / "out")
    assert not (folder / "out").exists()


def _part(found: dict[str, Any], name: str, value: str) -> str:
    parts = found["signature"].split("|")
    return "|".join(f"{name}:{value}" if p.startswith(f"{name}:") else p for p in parts)


def test_shards_of_another_program_than_this_one(folder: Path) -> None:
    for at in (1, 2, 3):
        edited(folder / f"shard-{at}", lambda m: m.update(signature=_part(m, "version", "0.0.9")))
    said = refused(folder, "shard-1", "shard-2", "shard-3")
    assert "of another version of judge or of its rubric" in said
    assert "judge rescore" in said


def rewritten(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    lines = (path / "annotations.jsonl").read_bytes().splitlines(keepends=True)
    (path / "annotations.jsonl").write_bytes(b"".join(change(lines)))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: lines[:-1], "it lacks 1 of"),
        (lambda lines: [*lines, lines[0]], "is not of shard 2/3"),
        (lambda lines: [lines[0][:50] + b"\n", *lines[1:]], "damaged: in line 1"),
        (lambda lines: lines[::-1], "are not those of the signature"),
        (
            lambda lines: [lines[0].replace(b'"reference": "', b'"reference": "No '), *lines[1:]],
            "are not those of the signature",
        ),
        (
            lambda lines: [lines[0].replace(b'"study_id": "ex-', b'"study_id": "xe-'), *lines[1:]],
            "is not of shard 2/3|not those of the signature",
        ),
    ],
)
def test_studies_that_were_changed(folder: Path, change: Any, why: str) -> None:
    rewritten(folder / "shard-2", change)
    with pytest.raises(JudgeError, match=why):
        merge([Run(folder / f"shard-{at}") for at in (1, 2, 3)], folder / "out")
    assert not (folder / "out").exists()


def test_on_the_command_line_each_is_one_message(made: Path, invoke: Invoke) -> None:
    shards = [made / f"shard-{at}" for at in (1, 2, 3)]
    for runs, out, why in (
        ([made / "not-there"], "out", "no such run"),
        ([made / "nothing"], "out", "is not a run: it holds no manifest.json"),
        ([made], "out", "is a folder of runs"),
        (shards, made / "shard-1", "holds another run; name another folder with --out"),
        (shards, made, "holds files that are no run"),
        (shards, made / "shard-1" / "manifest.json", "is a file"),
        ([*shards, shards[0]], "out", "is there twice"),
        ([], "out", "Missing argument 'RUN...'"),
    ):
        done = invoke("merge", *runs, "--out", out)
        assert done.exit_code == 2, done.output
        assert why in done.stderr
        assert "Traceback" not in done.stderr
        assert not Path("out").exists()
    done = invoke("merge", *shards, "--out", "out", "--by", "nothing")
    assert "cannot group by 'nothing'" in done.stderr
    assert not Path("out").exists()
    assert invoke("merge", *shards, "--out", "out", "--by", "site").exit_code == 0


def test_shards_of_a_call_from_python_are_named_as_one(made: Path, invoke: Invoke) -> None:
    done = invoke("merge", made / "shard-1", made / "shard-3", "--out", "out")
    assert done.exit_code == 2
    assert "judge.run(..., shard=(2, 3))" in done.stderr


def test_the_command_of_a_missing_shard_has_every_option(tmp_path: Path) -> None:
    """What was given, as a manifest keeps it, is given again; what was not, is not."""
    given = ["p one.json", "refs.json", "--judge", "gpt-4o", "--prompt", "mine.yaml"]
    given += ["--id-field", "row", "--model", "maira 2", "--section", "findings", "--allow-missing"]
    given += ["--reply", "text", "--base-url", "http://a/v1", "--base-url", "http://b/v1"]
    given += ["--vllm-arg=--dtype=float32", "--vllm-timeout", "5", "--max-tokens", "99"]
    given += ["--temperature", "0.5", "--top-p", "0.9", "--seed", "0", "--reasoning-effort", "low"]
    given += ["--body", 'a={"b": 1}', "--body", "c=2", "--concurrency", "64", "--timeout", "7.5"]
    given += ["--reask", "0", "--give-up-after", "0", "--max-outage", "0", "--max-cost", "1.5"]
    given += ["--min-coverage", "0", "--by", "site,study_class", "--shard", "1/3"]
    command = command_for(rubrics.load("green"))

    def read(words: list[str]) -> dict[str, Any]:
        return command.make_context("green", [*words]).params

    found = read(given)
    kept = {k: v for k, v in found.items() if k not in ("out", "cache", "form", "judge_names")}
    kept["judge_name"] = found["judge_names"][0]
    write_json(tmp_path / "arguments.json", kept)
    arguments = json.loads((tmp_path / "arguments.json").read_text("utf-8"))
    run = SimpleNamespace(rubric=rubrics.load("green"), manifest={"arguments": arguments})
    judge, rubric, *words = shlex.split(str(again(run, Shard(2, 3))))  # type: ignore[arg-type]
    assert (judge, rubric) == ("judge", "green")
    assert read(words) == {**found, "shard": "2/3"}
    assert "--workers" not in words
