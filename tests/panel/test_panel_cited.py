"""What `judge cite` says of a panel: who judged, what was scored and what was not."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from panelhelp import Counts, judged
from support import EXAMPLES, Invoke

from judge.backends import lexicon
from judge.running.folder import Run

GIVEN: dict[str, Counts | None] = {"a": (0, 0, 2), "b": (1, 1, 1), "c": (0, 0, 0)}


def test_it_says_how_many_judges_a_study_takes(invoke: Invoke, tmp_path: Path) -> None:
    runs = [
        judged(tmp_path / "x", GIVEN, "x"),
        judged(tmp_path / "y", {**GIVEN, "a": None}, "y"),
        judged(tmp_path / "z", {**GIVEN, "a": None, "b": None}, "z"),
    ]
    for options, whose, lost in (
        ((), "theirs", "1 of 3 studies were scored; 2 that not all judges scored are"),
        (
            ("--min-judges", "2"),
            "that of at least 2 of them",
            "2 of 3 studies were scored; 1 that fewer than 2 judges scored is",
        ),
    ):
        out = tmp_path / f"panel{len(options)}"
        done = invoke("panel", *runs, "--rule", "majority", *options, "--out", out)
        assert done.exit_code == 0, done.stderr
        text = invoke("cite", out).stdout
        assert f"Each number of a study is {whose} combined by the rule majority; " in text
        assert f"{lost} in no figure. " in text
        assert "could not be" not in text


def test_the_shards_that_its_judges_lack_are_said(invoke: Invoke, tmp_path: Path) -> None:
    words = (files(lexicon) / "lexicon.yaml").read_text("utf-8")
    (tmp_path / "mild.yaml").write_text(words.replace("severity: 3", "severity: 1"), "utf-8")
    pair = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")
    for out, name in (("usual", "lexicon"), ("mild", "lexicon:mild.yaml")):
        shard = ("--shard", "1/2", "--out", f"{out}-1")
        done = invoke("green", *pair, "--judge", name, *shard)
        assert done.exit_code == 0, done.stderr
        assert invoke("merge", f"{out}-1", "--allow-missing", "--out", out).exit_code == 0
    done = invoke("panel", "usual", "mild", "--rule", "any", "--out", "panel")
    assert done.exit_code == 0, done.stderr
    text = invoke("cite", "panel").stdout
    n = Run("panel").summary()["n_studies"]
    assert (
        f"Shard 2/2 of the set is missing: this is a run of {n} of 15 studies. Every study that "
        "is there was scored. " in text
    )
