"""What stands in for GREEN's package makes of answers what the package's own scorer makes of them.

The package is not on the registry; `radeval` has a copy of its scorer, without the summary.
Where the two differ is said in docs/python.md, and each such place is here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faultserver import Behaviour, Fault, FaultServer, always
from installed import module
from support import EXAMPLES

from judge.compat.green import GREEN

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def reference() -> Any:
    """The package's scorer, without a model."""
    found = module("metrics.green_score.green")
    return found.GREEN(model_name=None, cpu=True)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


def theirs(reference: Any, refs: list[str], hyps: list[str], answers: list[str]) -> Any:
    """The package's results where its model gave these answers."""
    reference.dataset = {"reference": refs, "prediction": hyps}
    reference.completions = answers
    return reference.process_results()


def assert_alike(
    reference: Any, scorer: GREEN, refs: list[str], hyps: list[str]
) -> None:
    mean, std, scores, _, result = scorer(refs, hyps)
    own = theirs(reference, refs, hyps, result["green_analysis"].tolist())
    assert (mean, std) == pytest.approx(own[:2])
    assert scores == pytest.approx(own[2])
    assert result.columns.tolist() == own[3].columns.tolist()
    for name in result.columns:
        assert result[name].tolist() == own[3][name].tolist(), name
    shares = reference.compute_accuracy(reference.completions)
    summary = scorer(refs, hyps)[3]
    assert summary is not None
    for name, share in shares.items():
        assert f"{name}: {share}. \n" in summary


def test_the_results_are_the_packages(reference: Any) -> None:
    refs, preds = (
        json.loads((EXAMPLES / name).read_text("utf-8"))
        for name in ("refs.json", "preds.json")
    )
    given = (
        [refs[one]["report"] for one in preds],
        [preds[one]["model_prediction"] for one in preds],
    )
    assert_alike(reference, GREEN("lexicon"), *given)


def test_a_models_answers_too(
    reference: Any, server: FaultServer, tmp_path: Path
) -> None:
    scorer = GREEN("model-x", base_url=server.url, reply="text", cache=tmp_path)
    refs = [f"study-{at:04}. The lungs are clear." for at in range(60)]
    assert_alike(reference, scorer, refs, ["Clear."] * 60)


def test_what_the_package_scores_0_is_nan_here(
    reference: Any, server: FaultServer, tmp_path: Path
) -> None:
    lost = (Fault.EMPTY, Fault.MALFORMED, Fault.REFUSAL_TEXT, Fault.TRUNCATED)
    server.set_faults(
        studies={f"study-{at:04}": always(one) for at, one in enumerate(lost)}
    )
    scorer = GREEN("model-x", base_url=server.url, reply="text", cache=tmp_path)
    refs = [f"study-{at:04}. The lungs are clear." for at in range(4)]
    with pytest.warns(UserWarning, match="4 of 4 studies are not scored"):
        mean, _, scores, _, result = scorer(refs, ["Clear."] * 4)
    assert all(map(math.isnan, (mean, *scores)))
    own = theirs(reference, refs, ["Clear."] * 4, result["green_analysis"].tolist())
    assert own[:3] == (0.0, 0.0, [0, 0, 0, 0])


def test_what_the_package_passes_over_is_not_passed_over_here(reference: Any) -> None:
    from judge.rubrics.green import RUBRIC
    from judge.types import Study, UnparsedError

    answer = (
        "[Explanation]:\nx\n\n[Clinically Significant Errors]:\n"
        "(a) False report of a finding in the candidate: {errors}\n\n"
        "[Clinically Insignificant Errors]:\nNo errors.\n\n[Matched Findings]:\n1. No effusion."
    )
    study = Study("s", "No effusion.", "No effusion.")
    assert reference.compute_green(answer.format(errors="1. Large mass")) == 0.5
    for errors in ("1 error, Large mass", "2 errors", "Large mass"):
        assert reference.compute_green(answer.format(errors=errors)) == 1.0
        with pytest.raises(UnparsedError):
            RUBRIC.parse(answer.format(errors=errors), study, complete=True)
