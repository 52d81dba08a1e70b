"""What `import judge` offers beside `annotate`: runs, their rates and outcomes, comparisons."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support import Invoke

from judge import (
    Annotated,
    JudgeError,
    Leaderboard,
    RequestPolicy,
    Resampling,
    Run,
    compare,
    recurring_errors,
    run,
)

REFERENCES = {
    "a": "The lungs are clear.",
    "b": "Large left effusion.",
    "c": "Nodule on the right.",
}
GOOD, BAD = (
    dict(REFERENCES),
    {**REFERENCES, "b": "Large right effusion.", "c": "Clear lungs."},
)
FIELDS = {"site": ["north", "south", "south"]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Two models on the same studies, judged by the built-in judge."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        name: run(REFERENCES, candidates, fields=FIELDS, out=folder / name)
        for name, candidates in (("good", GOOD), ("bad", BAD))
    }


def test_a_run_is_written_and_opened(
    runs: dict[str, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = runs["good"]
    assert good.signature == Run.open(str(good.path)).signature
    assert all(isinstance(outcome, Annotated) for _, outcome in good.outcomes())
    assert [study.study_id for study, _ in good.outcomes()] == ["a", "b", "c"]
    assert good.summary().n_scored == 3
    assert list(good.table()["study_id"]) == ["a", "b", "c"]
    monkeypatch.chdir(tmp_path)
    named = run(REFERENCES, GOOD, fields=FIELDS)
    assert named.path.parent == Path("judge-runs")
    assert run(REFERENCES, GOOD, fields=FIELDS).path == named.path
    with pytest.raises(JudgeError, match="another run"):
        run(REFERENCES, BAD, fields=FIELDS, out=named.path)
    with pytest.raises(JudgeError, match="nowhere"):
        run(REFERENCES, GOOD, by=["nowhere"], out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_is_printed_is_short_and_a_notebook_shows_a_table(
    runs: dict[str, Run],
) -> None:
    assert repr(runs["bad"]) == f"Run.open({str(runs['bad'].path)!r})"
    board = compare(runs, tests=None)
    for result in (board, runs["bad"]):
        text = str(result)
        assert result.signature in text
        assert len(text.splitlines()) < 20
        assert "<table" in result._repr_html_()
    assert "0.333" in str(board)


def test_rates_are_what_the_command_prints(
    runs: dict[str, Run], invoke: Invoke
) -> None:
    frame = runs["bad"].rates(by=["site"])
    printed = invoke(
        "rates", runs["bad"].path, "--by", "site", "--format", "csv"
    ).stdout
    assert frame.to_csv(index=False).splitlines() == printed.splitlines()
    assert list(frame["row"]) == ["group", "group", "all"]
    assert list(frame["n_scored"]) == [1, 2, 3]
    assert runs["bad"].rates(by="site").equals(frame)  # type: ignore[arg-type]
    with pytest.raises(JudgeError, match="nowhere"):
        runs["bad"].rates(by=["nowhere"])


def test_runs_are_compared(runs: dict[str, Run], invoke: Invoke) -> None:
    with pytest.raises(JudgeError, match="not a run"):
        recurring_errors([*runs.values()])  # type: ignore[arg-type]
    assert len(compare(runs["bad"].path, tests=None).figures) == len(
        compare([runs["bad"]]).figures
    )
    board = compare(runs, by=["site"], tests=Resampling(resamples=200, flips=200))
    assert isinstance(board, Leaderboard)
    first = board.figures.iloc[0]
    assert (first["model"], first["rank"], first["green_n"]) == ("good", 1, 3)
    with pytest.raises(JudgeError, match="leaderboard, errors, tests"):
        board.frame("nothing")
    assert set(board.tests["model"]) | set(board.tests["other"]) == {"good", "bad"}
    assert set(board.tests["row"]) == {"all", "group"}
    words = [f"{name}={found.path}" for name, found in runs.items()]
    printed = invoke(
        "compare", *words, "--by", "site", "--no-tests", "--format", "csv"
    ).stdout
    untested = compare(runs, by="site", tests=None)
    ours = io.StringIO(untested.figures.to_csv(index=False))
    assert pd.read_csv(ours).equals(pd.read_csv(io.StringIO(printed)))
    assert untested.tests.empty
    assert untested.signature.startswith("compare:1|models:2|")


def test_what_is_left_open_has_its_default_and_what_is_unknown_is_refused(
    tmp_path: Path,
) -> None:
    policy = RequestPolicy(concurrency=2)
    done = run(
        REFERENCES,
        GOOD,
        sampling=None,
        reply=None,
        policy=policy,
        out=tmp_path / "r",
        options=None,
    )
    assert (done.manifest.effort or {})["max_outage"] == policy.max_outage
    for unknown in ("promt", "environ"):
        why = f"there is no option '{unknown}'; there are: prompt, base_url, .*, section, "
        with pytest.raises(JudgeError, match=why):
            run(REFERENCES, GOOD, **{unknown: None})
    with pytest.raises(JudgeError, match="color"):
        run(REFERENCES, GOOD, options={"color": 1})
    with pytest.raises(JudgeError, match="--port"):
        run(REFERENCES, GOOD, judge=f"vllm:{tmp_path}", options={"port": 1})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("concurrency", 0),
        ("concurrency", 2.5),
        ("reask", -1),
        ("max_outage", float("nan")),
        ("max_cost", "5"),
    ],
)
def test_a_policy_that_cannot_be_is_refused_when_it_is_made(
    name: str, given: object
) -> None:
    with pytest.raises(
        JudgeError, match=rf"^{name} is a .*number from [01] on, not {given!r}$"
    ):
        RequestPolicy(**{name: given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        (
            "import judge; dir(judge); judge.__version__",
            ("judge.types", "click", "pandas"),
        ),
        (
            "from judge.cli import main; main(['--help'])",
            (
                *("pandas", "numpy", "pydantic", "openai", "aiohttp", "rich"),
                *(
                    "judge.rubrics.green",
                    "judge.cli.judging",
                    "judge.cli.compare",
                    "judge.prompts",
                    "judge.backends",
                ),
            ),
        ),
    ],
)
def test_what_is_not_needed_is_not_imported(
    code: str, unwanted: tuple[str, ...]
) -> None:
    program = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print(*({{*sys.modules}} & {{*{unwanted}}}), file=sys.stderr))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program + code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.split() == []
