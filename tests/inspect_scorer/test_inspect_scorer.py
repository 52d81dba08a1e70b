"""A real `inspect_ai.eval` whose samples this program judges; `.ci/others` runs this file.

inspect_ai's mock model stands for the model that writes reports, `tests/faultserver` for the judge
behind an API.
"""

from __future__ import annotations

import gc
import json
import math
from pathlib import Path
from typing import Any

import pytest
from faultserver import Behaviour, Fault, FaultServer, always

import judge

# inspect_ai's libraries warn on import, and it leaves streams open.
pytestmark = pytest.mark.filterwarnings("ignore")

EXAMPLES = Path(__file__).parents[2] / "examples"
REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
PREDS = {
    study_id: one["model_prediction"]
    for study_id, one in json.loads(
        (EXAMPLES / "preds.json").read_text("utf-8")
    ).items()
}
IDS = [study_id for study_id in REFS if study_id in PREDS]


@pytest.fixture(autouse=True)
def collected() -> Any:
    """What inspect_ai leaves open warns while warnings are ignored, not at the end."""
    yield
    gc.collect()


def scorer(**options: Any) -> Any:
    from judge.compat.inspect import radiology_judge

    return radiology_judge(**options)


def evaluate(
    tmp_path: Path, samples: list[Any], reports: list[Any], scored: Any, **options: Any
) -> Any:
    """Return the log of an evaluation whose model writes `reports`, one a sample, in order.

    Each is a text or inspect_ai's own output; `options` are the task's.
    """
    import inspect_ai
    from inspect_ai.dataset import MemoryDataset
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate

    outputs = [
        ModelOutput.from_content("mockllm/model", one) if isinstance(one, str) else one
        for one in reports
    ]
    for output in outputs:  # else mockllm downloads a tokenizer to count by
        output.usage = ModelUsage()
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    options = {"solver": generate(), **options}
    task = inspect_ai.Task(dataset=MemoryDataset(samples), scorer=scored, **options)
    # One sample at a time: the mock model gives its outputs in the order that it is asked.
    (log,) = inspect_ai.eval(
        *(task, model),
        max_samples=1,
        log_dir=str(tmp_path / "logs"),
        display="none",
        score=True,
    )
    return log


def sample(study_id: str, target: Any = None) -> Any:
    from inspect_ai.dataset import Sample

    reference = REFS[study_id]["section_findings"] if target is None else target
    return Sample(input="Write the findings.", target=reference, id=study_id)


def only_score(one: Any) -> Any:
    ((name, score),) = one.scores.items()
    assert name == "radiology_judge"
    return score


def test_the_scores_are_those_of_a_run_with_their_evidence(tmp_path: Path) -> None:
    log = evaluate(
        tmp_path, [sample(i) for i in IDS], [PREDS[i] for i in IDS], scorer()
    )
    assert log.status == "success", log.error
    table = judge.annotate(
        [REFS[i]["section_findings"] for i in IDS], [PREDS[i] for i in IDS]
    )
    for one, row in zip(log.samples, table.itertuples(), strict=True):
        score = only_score(one)
        assert score.value == row.green
        assert score.explanation == row.answer
        assert score.metadata["outcome"] == "scored"
        assert score.metadata["measures"]["n_significant"] == row.n_significant
        assert score.metadata["signature"].startswith("green:")
        assert score.metadata["judge_note"] == table.attrs["note"]
    (result,) = log.results.scores
    assert result.scored_samples == len(IDS)
    assert result.unscored_samples == 0
    assert result.metrics["mean"].value == pytest.approx(table["green"].mean())
    assert result.metrics["stderr"].value == pytest.approx(table["green"].sem())
    assert 0 < table["green"].mean() < 1


def test_what_cannot_be_read_is_unscored_and_counted_never_0(tmp_path: Path) -> None:
    keys = [f"study-{n:04}" for n in range(6)]
    with FaultServer(
        Behaviour(studies=dict.fromkeys(keys[:2], always(Fault.TRUNCATED)))
    ) as server:
        chosen = scorer(
            judge="some-model",
            base_url=server.url,
            cache=str(tmp_path / "cache"),
            concurrency=2,
        )
        samples = [
            sample(IDS[0], target=f"{key}. The lungs are clear.") for key in keys
        ]
        for each, key in zip(samples, keys, strict=True):
            each.id = key
        log = evaluate(tmp_path, samples, ["Effusion."] * 6, chosen)
        again = evaluate(tmp_path, samples, ["Effusion."] * 6, chosen)
        asked = server.stats().by_study
    assert log.status == "success", log.error
    lost, kept = log.samples[:2], log.samples[2:]
    for one in lost:
        score = only_score(one)
        assert math.isnan(score.value)
        assert score.reason == "grader_failed"
        assert score.explanation.startswith("unparsed: truncated")
        assert score.metadata["reason"] == "truncated"
        assert score.metadata["measures"] is None
    values = [only_score(one).value for one in kept]
    assert not any(map(math.isnan, values))
    (result,) = log.results.scores
    assert (result.scored_samples, result.unscored_samples) == (4, 2)
    assert result.metrics["mean"].value == pytest.approx(sum(values) / 4)
    # The second evaluation has its answers from the cache, by the same scorer in a new event loop.
    assert [only_score(one).value for one in again.samples[2:]] == values
    assert all(asked[key] == 1 for key in keys[2:])


def solving(solve: Any) -> Any:
    """A solver of inspect_ai that is one function."""
    from inspect_ai.solver import solver

    return solver("own")(lambda: solve)()


def output(
    text: str | None, stop_reason: Any = "stop", error: str | None = None
) -> Any:
    """What a model gave; None is nothing at all."""
    from inspect_ai.model import ModelOutput

    if text is None:
        return ModelOutput(model="mockllm/model", choices=[], error=error)
    return ModelOutput.from_content("mockllm/model", text, stop_reason, error)


@pytest.mark.parametrize(
    ("given", "reason", "why"),
    [
        ((None, None, "provider 500"), "no_response", "provider 500"),
        ((None,), "no_response", "no output"),
        (("", "content_filter", "flagged"), "refusal", "flagged"),
        (("Small left", "max_tokens"), "truncated", "max_tokens"),
        ((" ", "tool_calls"), "no_response", "tool_calls"),
    ],
)
def test_a_model_that_failed_is_unscored_and_never_a_number(
    tmp_path: Path, given: Any, reason: str, why: str
) -> None:
    outputs = iter([output(*given), output("Small left effusion.")])

    async def solve(state: Any, _generate: Any) -> Any:
        state.output = next(outputs)  # generate() itself fails for some of these
        return state

    samples = [sample(one, target="Small left effusion.") for one in IDS[:2]]
    log = evaluate(
        tmp_path, samples, [], scorer(rubric="fineradscore"), solver=solving(solve)
    )
    assert log.status == "success", log.error
    score = only_score(log.samples[0])
    assert math.isnan(score.value)
    assert score.reason == score.metadata["reason"] == reason
    assert why in score.explanation
    (result,) = log.results.scores
    assert (result.scored_samples, result.unscored_samples) == (1, 1)
    assert result.metrics["mean"].value == 1


def test_a_report_that_the_model_left_empty_is_judged(tmp_path: Path) -> None:
    given = [output(""), output("Small left effusion.", "unknown")]
    samples = [sample(one, target="Small left effusion.") for one in IDS[:2]]
    log = evaluate(tmp_path, samples, given, scorer())
    assert [only_score(one).value for one in log.samples] == [0, 1]


def test_a_judge_that_cannot_be_had_fails_the_sample(tmp_path: Path) -> None:
    with FaultServer(Behaviour(api_keys=("right",))) as server:
        chosen = scorer(
            judge="some-model", base_url=server.url, cache=str(tmp_path / "cache")
        )
        log = evaluate(tmp_path, [sample(IDS[0])], ["Effusion."], chosen)
    assert log.status == "error"
    assert "key" in log.error.message
    assert not log.samples[0].scores
