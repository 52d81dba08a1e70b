"""The file of an experiment: what it may say, and the runs that it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.experiments.execution import Plan, plan_of
from judge.experiments.experiment import (
    Experiment,
    ExperimentSource,
    read_experiment,
)
from judge.experiments.matrix import resolve
from judge.types import JudgeError

REPORTS = "references: refs.json\ncandidates: [preds_*.json]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of two models and references, of which nothing reads the content."""
    for name in ("refs.json", "preds_elm.json", "preds_fir.json", "odd [1].json"):
        (tmp_path / name).write_text("{}", "utf-8")
    return tmp_path


def written(folder: Path, text: str) -> ExperimentSource:
    file = folder / "experiment.yaml"
    file.write_text(text, "utf-8")
    return read_experiment(file)


def planned(folder: Path, text: str) -> Plan:
    return plan_of(written(folder, text))


def test_each_combination_is_a_run_and_the_judge_changes_least_often(
    folder: Path,
) -> None:
    plan = planned(
        folder,
        REPORTS
        + "sections: [findings, report]\nrubrics: [green, counts]\n"
        + "judges: [lexicon, gpt-6-luna]\nout: runs\n",
    )
    assert len(plan.runs) == 2 * 2 * 2 * 2
    assert [run.judge for run in plan.runs] == 8 * ["lexicon"] + 8 * ["gpt-6-luna"]
    assert plan.runs[0].name == "elm-findings-green-lexicon"
    assert plan.out == folder / "runs"
    assert plan.runs[-1].settings.section == "report"
    assert plan.runs[-1].settings.rubric == "counts"
    assert plan.matrix.names["model"] == ["elm", "fir"]


def test_settings_nearer_to_a_run_count(folder: Path) -> None:
    plan = planned(
        folder,
        REPORTS
        + "max_tokens: 100\ntemperature: 0.5\nrubrics: {green: {prompt: green}}\n"
        + "judges:\n  near: {judge: gpt-6-luna, max_tokens: 50, reasoning_effort: low}\n"
        + "  far: gpt-6-luna\n",
    )
    near, _, far, _ = plan.runs
    assert (near.settings.max_tokens, far.settings.max_tokens) == (50, 100)
    assert near.settings.temperature == far.settings.temperature == 0.5
    assert near.settings.parameters == {"temperature": 0.5, "reasoning_effort": "low"}
    assert near.settings.judge == "gpt-6-luna"
    assert near.settings.prompt == "green"
    assert near.name == "elm-green-near"


def test_data_sets_have_reports_and_columns_of_their_own(folder: Path) -> None:
    plan = planned(
        folder,
        "data:\n"
        "  north: {references: refs.json, candidates: preds_elm.json}\n"
        "  south:\n    candidates: {elm: preds_elm.json, oak: preds_fir.json}\n"
        "    columns: {id: key}\n    modality: ct\n",
    )
    north, elm, oak = plan.runs
    assert (north.data, north.model, north.settings.columns.id) == (
        "north",
        "elm",
        None,
    )
    assert (elm.settings.refs, elm.settings.modality) == (None, "ct")
    assert (oak.name, oak.settings.columns.id) == ("south-oak-green-lexicon", "key")
    assert plan.matrix.notes == ("the data set north has no candidates of oak",)


def test_the_name_of_a_run_stays_when_the_experiment_grows(folder: Path) -> None:
    few = planned(folder, REPORTS)
    more = planned(
        folder, REPORTS + "judges: [gpt-6-luna, lexicon]\nrubrics: [counts, green]"
    )
    assert {run.name for run in few.runs} < {run.name for run in more.runs}


def test_names_that_make_one_folder_are_told_apart(folder: Path) -> None:
    plan = planned(
        folder,
        "references: refs.json\ncandidates: {a b: preds_elm.json, a-b: preds_fir.json}\n",
    )
    first, second = (run.name for run in plan.runs)
    assert first != second
    assert first.startswith("a-b-green-lexicon-")


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(folder: Path) -> None:
    plan = planned(folder, 'references: refs.json\ncandidates: ["odd [1].json"]\n')
    assert [run.preds for run in plan.runs] == [str(folder / "odd [1].json")]


def test_the_references_are_no_candidate_of_a_pattern(folder: Path) -> None:
    plan = planned(folder, 'references: refs.json\ncandidates: ["*f*.json"]\n')
    assert [run.model for run in plan.runs] == ["fir"]
    assert "has the references" in plan.matrix.notes[0]


def test_only_some_runs(folder: Path) -> None:
    source = written(folder, REPORTS + "rubrics: [green, counts]\n")
    plan = plan_of(source, only={"model": ["fir"], "rubric": ["green", "counts"]})
    assert [run.name for run in plan.runs] == [
        "fir-green-lexicon",
        "fir-counts-lexicon",
    ]
    assert len(plan.matrix.runs) == 4
    for only, message in (
        ({"model": ["fire"]}, "no such model; did you mean fir?"),
        ({"site": ["x"]}, "no such axis; there are: data, model, section"),
        ({"data": ["x"]}, "the experiment names no data"),
    ):
        with pytest.raises(JudgeError) as error:
            plan_of(source, only=only)
        assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("", ["it needs candidates"]),
        ("references: refs.json", ["no candidates"]),
        ("candidates: [preds_elm.json", ["is no YAML"]),
        ("candidates: [*.json]", ["in quotes"]),
        ("candidates: {a: x.json, a: y.json}", ["the key 'a' is there twice"]),
        ("candidates: []", ["a list of files and patterns"]),
        ("candidates: [none_*.json]", ["no file fits"]),
        ("candidates: [none.json]", ["there is no file"]),
        ("candidates: {a: none.json}", ["candidates.a: there is no file"]),
        ("candidates: [-]", ["no standard input"]),
        (REPORTS + "batch: true", ["judge RUBRIC --batch"]),
        (REPORTS + "rubrics: [gren]", ["unknown rubric 'gren'"]),
        (REPORTS + "judges: [a, a]", ["'a' is there twice"]),
        (REPORTS + "judges: [{name: a}]", ["names no judge"]),
        (
            REPORTS + "judges: {a: {judge: b, max_token: 3}}",
            ["did you mean max_tokens?"],
        ),
        (REPORTS + "columns: {class: label}", ["did you mean study_class?"]),
        (REPORTS + "data: [x]", ["give each data set a name"]),
        (REPORTS + "data: {x: {candidates: preds_elm.json}}", ["move them there"]),
        (
            "refs: refs.json\nmodels: [a.json]\nrubric: green\nmax_cost: 0\nsections: [all]",
            [
                "'refs'; did you mean references?",
                "'models'; did you mean candidates?",
                "'rubric'; did you mean rubrics?",
                "max_cost: ",
                "no section 'all'",
            ],
        ),
    ],
)
def test_a_fault_is_said_in_one_sentence(
    folder: Path, text: str, messages: list[str]
) -> None:
    with pytest.raises(JudgeError) as error:
        planned(folder, text)
    for message in messages:
        assert message in str(error.value)


def test_two_files_of_one_model_are_refused(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more/elm.json").write_text("{}", "utf-8")
    with pytest.raises(JudgeError, match="both of the model 'elm'"):
        planned(folder, 'references: refs.json\ncandidates: ["**/*elm.json"]\n')


def test_an_experiment_in_python_is_the_same(folder: Path) -> None:
    values = {"references": "refs.json", "candidates": ["preds_elm.json"]}
    experiment = Experiment.of(values).with_changes(limit=5, max_cost=None)
    source = ExperimentSource.of_values(experiment, folder)
    assert [run.settings.limit for run in resolve(source).runs] == [5]
    again = ExperimentSource.of_values(Experiment.of({**values, "limit": 5}), folder)
    assert source.sha256 == again.sha256
    folder = plan_of(source).folder
    assert folder.parent.parent == Path("judge-runs")
    assert folder.name == "limit-5"
    dearer = source.experiment.with_changes(max_cost=9, limit=6)
    other = plan_of(ExperimentSource.of_values(dearer, source.folder))
    assert other.folder == folder.with_name("limit-6")
