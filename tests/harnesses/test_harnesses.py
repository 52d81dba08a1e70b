"""Real evaluations by lm-evaluation-harness and lighteval; `.ci/others` runs this file.

A model of the test writes the reports of examples/preds.json; `tests/faultserver` stands for the
judge behind an API.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faultserver import Behaviour, Fault, FaultServer, always

import judge

# The libraries that the harnesses bring warn on import, and leave files open.
pytestmark = pytest.mark.filterwarnings("ignore")

EXAMPLES = Path(__file__).parents[2] / "examples"
REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
PREDS = {
    study_id: one["model_prediction"]
    for study_id, one in json.loads(
        (EXAMPLES / "preds.json").read_text("utf-8")
    ).items()
}
Write = Callable[[str], str]
"""Writes a report for the id of a study."""


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("JUDGE_CACHE", str(tmp_path / "cache"))


def expected(reports: dict[str, str]) -> Any:
    """The studies as `judge.annotate` judges them."""
    references = [REFS[study_id]["section_findings"] for study_id in reports]
    return judge.annotate(references, list(reports.values()))


def lm_eval_results(write: Write, task: Any = None) -> dict[str, Any]:
    """The results of lm-evaluation-harness, by metric, and its samples."""
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    class Writer(LM):
        def generate_until(self, requests: list[Any], **_: Any) -> list[str]:
            return [write(request.doc["study_id"]) for request in requests]

        def loglikelihood(self, *_: Any) -> Any:
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    manager = TaskManager(
        include_path=str(EXAMPLES / "lm_eval"), include_defaults=False
    )
    done = lm_eval.simple_evaluate(
        model=Writer(),
        tasks=[task or "radiology_findings"],
        task_manager=manager,
        log_samples=True,
    )
    ((_, results),) = done["results"].items()
    ((_, samples),) = done["samples"].items()
    return {**results, "samples": samples}


def lm_eval_task(**options: Any) -> dict[str, Any]:
    """A task in Python, with options of the judge."""
    from datasets import Dataset

    from judge.compat.lm_eval import radiology_judge

    rows = [
        {"study_id": study_id, "findings": REFS[study_id]["section_findings"]}
        for study_id in PREDS
    ]
    return {
        "task": "mine",
        "custom_dataset": lambda **_: {"test": Dataset.from_list(rows)},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{study_id}}: write the findings.",
        "doc_to_target": "{{findings}}",
        "generation_kwargs": {"until": []},
        **radiology_judge(reference="findings", study_id="study_id", **options),
    }


def lighteval_results(write: Write, metric: Any = None) -> dict[str, Any]:
    """The results of lighteval, by metric, and the value of each study."""
    import importlib.util

    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.models.abstract_model import LightevalModel
    from lighteval.models.dummy.dummy_model import DummyModelConfig
    from lighteval.models.model_output import ModelResponse
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters
    from lighteval.tasks.registry import Registry
    from lighteval.utils.cache_management import SampleCache

    class Writer(LightevalModel):
        tokenizer = None
        add_special_tokens = False
        max_length = 2048

        def __init__(self) -> None:
            self.config = DummyModelConfig(model_name="writer")
            self._cache = SampleCache(self.config)

        def cleanup(self) -> None:
            pass

        def greedy_until(self, docs: list[Any]) -> list[Any]:
            return [
                ModelResponse(text=[write(doc.specific["study_id"])]) for doc in docs
            ]

        def loglikelihood(self, *_: Any) -> Any:
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    path = EXAMPLES / "lighteval_task.py"
    spec = importlib.util.spec_from_file_location("lighteval_task", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if metric is not None:
        module.TASKS_TABLE[0].metrics = (metric,)
    with pytest.MonkeyPatch.context() as patch:
        # lighteval's own tasks download files when they are listed.
        patch.setattr(Registry, "_load_from_files", lambda *_: {})
        patch.setattr(Registry, "_load_from_subdirs", lambda *_: {})
        pipeline = Pipeline(
            tasks="radiology_findings|0",
            pipeline_parameters=PipelineParameters(
                launcher_type=ParallelismManager.NONE, custom_tasks_directory=module
            ),
            evaluation_tracker=EvaluationTracker(output_dir="lighteval"),
            model=Writer(),
        )
        pipeline.evaluate()
    tracker = pipeline.evaluation_tracker
    ((_, details),) = tracker.details_logger.details.items()
    values = {one.doc.specific["study_id"]: one.metric["green"] for one in details}
    results = tracker.metrics_logger.metric_aggregated["radiology_findings|0"]
    return {**results, "values": values}


def test_lm_eval_prints_the_mean_of_a_run() -> None:
    found = lm_eval_results(PREDS.__getitem__)
    table = expected(PREDS)
    assert found["green,none"] == pytest.approx(table["green"].mean())
    assert 0 < found["green,none"] < 1
    assert found["green_unscored,none"] == 0
    # A standard error that it does not make of a mean over some of the samples.
    assert found["green_stderr,none"] == "N/A"
    assert len(found["samples"]) == len(PREDS)


def test_lighteval_prints_the_mean_of_a_run() -> None:
    found = lighteval_results(PREDS.__getitem__)
    table = expected(PREDS)
    assert found["green"] == pytest.approx(table["green"].mean())
    assert found["green_stderr"] == pytest.approx(table["green"].sem())
    assert found["green_unscored"] == 0
    assert found["values"] == dict(zip(PREDS, table["green"], strict=True))


@pytest.mark.parametrize("harness", ["lm_eval", "lighteval"])
def test_an_empty_report_is_unscored_and_counted(harness: str) -> None:
    empty = set(list(PREDS)[:3])
    kept = {study_id: text for study_id, text in PREDS.items() if study_id not in empty}

    def write(study_id: str) -> str:
        return kept.get(study_id, " ")

    mean = expected(kept)["green"].mean()
    if harness == "lm_eval":
        found = lm_eval_results(write)
        assert found["green,none"] == pytest.approx(mean)
        assert found["green_unscored,none"] == pytest.approx(3 / len(PREDS))
        return
    found = lighteval_results(write)
    assert found["green"] == pytest.approx(mean)
    assert found["green_unscored"] == pytest.approx(3 / len(PREDS))
    assert {
        name for name, value in found["values"].items() if math.isnan(value)
    } == empty


@pytest.mark.parametrize("harness", ["lm_eval", "lighteval"])
def test_a_judgement_that_cannot_be_read_is_unscored_and_never_0(
    harness: str, tmp_path: Path
) -> None:
    keys = [f"study-{n:04}" for n in range(len(PREDS))]
    key_of = dict(zip(PREDS, keys, strict=True))
    behaviour = Behaviour(studies=dict.fromkeys(keys[:2], always(Fault.TRUNCATED)))

    def write(study_id: str) -> str:
        return f"{key_of[study_id]}. Small effusion."

    with FaultServer(behaviour) as server:
        options: dict[str, Any] = {
            "judge": "some-model",
            "base_url": server.url,
            "cache": tmp_path / "answers",
            "out": tmp_path / "run",
        }
        if harness == "lm_eval":
            found = lm_eval_results(write, lm_eval_task(**options))
            mean, unscored = found["green,none"], found["green_unscored,none"]
        else:
            from judge.compat.lighteval import radiology_judge

            found = lighteval_results(write, radiology_judge(**options))
            mean, unscored = found["green"], found["green_unscored"]
        asked = server.stats().by_study
    # The run that `out` kept says the same, study by study.
    run = judge.Run.open(tmp_path / "run")
    summary = run.summary()
    assert (summary.n_unparsed, summary.n_scored) == (2, len(PREDS) - 2)
    assert mean == pytest.approx(summary.statistics["green"].value)
    assert mean > 0
    assert unscored == pytest.approx(2 / len(PREDS))
    # One question a scored study, for both metrics together.
    assert all(asked[key] == 1 for key in keys[2:])
