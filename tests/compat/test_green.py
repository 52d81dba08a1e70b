"""A script that used GREEN's package gets its five results, and NaN where there is no score."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from faultserver import Behaviour, Fault, FaultServer, always, annotation_for
from support import EXAMPLES

from judge import annotate
from judge.backends.options import is_green
from judge.compat import green
from judge.compat.green import GREEN

CATEGORIES = [
    "(a) False report of a finding in the candidate",
    "(b) Missing a finding present in the reference",
    "(c) Misidentification of a finding's anatomic location/position",
    "(d) Misassessment of the severity of a finding",
    "(e) Mentioning a comparison that isn't in the reference",
    "(f) Omitting a comparison detailing a change from a prior study",
]


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


@pytest.fixture
def scorer(server: FaultServer, tmp_path: Path) -> GREEN:
    return GREEN("model-x", base_url=server.url, cache=tmp_path / "cache")


def examples() -> tuple[list[str], list[str]]:
    refs, preds = (
        json.loads((EXAMPLES / name).read_text("utf-8"))
        for name in ("refs.json", "preds.json")
    )
    return [refs[one]["report"] for one in preds], [
        preds[one]["model_prediction"] for one in preds
    ]


def of_studies(n: int) -> tuple[list[str], list[str]]:
    """References that the server knows, and candidates."""
    return [f"study-{at:04}. The lungs are clear." for at in range(n)], ["Clear."] * n


def test_the_five_results_are_those_of_annotate() -> None:
    refs, hyps = examples()
    table = annotate(refs, hyps)
    mean, std, scores, summary, result = GREEN("lexicon", output_dir=".", cpu=True)(
        refs, hyps
    )
    assert scores == table["green"].tolist()
    assert mean == pytest.approx(np.mean(scores))
    assert std == pytest.approx(np.std(scores))  # of the population, as in the package
    assert result.columns.tolist() == [
        *("reference", "predictions", "green_analysis", "green_score"),
        *(*CATEGORIES, "Matched Findings"),
    ]
    assert result["reference"].tolist() == refs
    assert result["predictions"].tolist() == hyps
    assert result["green_score"].tolist() == scores
    assert result["green_analysis"].tolist() == table["answer"].tolist()
    for letter, name in zip("abcdef", CATEGORIES, strict=True):
        assert result[name].tolist() == table[f"significant_{letter}"].tolist()
        assert result[name].dtype == np.int64
    assert result["Matched Findings"].tolist() == table["n_matched"].tolist()
    assert result.attrs["signature"] == table.attrs["signature"]
    assert result.attrs["note"] == table.attrs["note"]
    assert summary is not None
    assert f"[Summary]: Green average {mean} and standard deviation {std}" in summary
    share = float((table["significant_b"] == 0).mean())
    assert f"{CATEGORIES[1]}: {share}. \n" in summary


def test_a_study_without_a_score_is_nan_and_counted(
    scorer: GREEN, server: FaultServer
) -> None:
    server.set_faults(
        studies={
            "study-0001": always(Fault.MALFORMED),
            "study-0002": always(Fault.TOO_LONG),
        }
    )
    refs, hyps = of_studies(6)
    with pytest.warns(UserWarning, match="3 of 7 studies are not scored") as said:
        mean, std, scores, summary, result = scorer(
            [*refs, "___"], [*hyps, "Clear. \ud83d"]
        )
    assert "1 no reference" in str(said[0].message)
    assert "1 unparsed, " in str(said[0].message)
    assert said[0].filename == __file__
    assert [math.isnan(one) for one in scores] == [
        False,
        True,
        True,
        False,
        False,
        False,
        True,
    ]
    known = [scores[at] for at in (0, 3, 4, 5)]
    assert mean == pytest.approx(np.mean(known))
    assert std == pytest.approx(np.std(known))
    for name in ("green_score", *CATEGORIES, "Matched Findings"):
        assert np.isnan(result[name].to_numpy()).tolist() == [
            math.isnan(one) for one in scores
        ]
    stated = [annotation_for(f"study-{at:04}").stated_counts for at in (0, 3, 4, 5)]
    share = sum(one["significant_a"] == 0 for one in stated) / 4
    assert summary is not None
    assert f"{CATEGORIES[0]}: {share}. \n" in summary
    assert result["green_analysis"][6] is None


def test_the_name_of_a_green_model_or_a_folder_is_a_model_in_this_process(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    own = (
        "StanfordAIMI/GREEN-radllama2-7b",
        "StanfordAIMI/GREEN-RadPhi2",
        str(tmp_path / "mine"),
    )
    for name in own:
        assert green.GREEN(name)._judge == f"hf:{name}"
        assert green.GREEN(name, base_url="http://127.0.0.1:1/v1")._judge == name
    for name in (
        "lexicon",
        "gpt-4o",
        "vllm:StanfordAIMI/GREEN-radllama2-7b",
        "lexicon:./my.yaml",
    ):
        assert green.GREEN(name)._judge == name
    assert not is_green("evergreen-model")
