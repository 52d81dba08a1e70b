"""One screen for a meeting: rates, errors and the most frequent errors of each model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from answered_runs import answered, green
from support import EXAMPLES, Invoke

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import compare_runs
from judge.pages.meeting import (
    MOST_CLASSES,
    MOST_MODELS,
    address_in_service,
    meeting,
    shown_studies,
)
from judge.pages.meeting_models import Meeting, MeetingRubric

EFFUSION, NODULE = "1. Left pleural effusion", "1. Lung nodule"


def screen(
    *runs: Path | RunChoice, by: tuple[str, ...] = (), allow: tuple[str, ...] = ()
) -> Meeting:
    choices = []
    for run in runs:
        if isinstance(run, Path):
            choices.append(RunChoice(run, str(run)))
        else:
            choices.append(run)
    return meeting(*compare_runs(choices, None, by=by, allow=allow))


def only(shown: Meeting) -> MeetingRubric:
    (rubric,) = shown.rubrics
    return rubric


@pytest.fixture
def two(tmp_path: Path, invoke: Invoke) -> tuple[Path, Path]:
    """Runs of the models alder and birch over the examples."""
    runs = []
    for model in ("birch", "alder"):
        out = tmp_path / model
        files = (EXAMPLES / f"preds_{model}.json", EXAMPLES / "refs.json")
        done = invoke("green", *files, "--judge", "lexicon", "--out", out)
        assert done.exit_code == 0, done.stderr
        runs.append(out)
    return runs[0], runs[1]


def test_the_figures_are_those_of_the_comparison(
    two: tuple[Path, Path], invoke: Invoke
) -> None:
    found = only(screen(*two))
    done = invoke("compare", *two, "--by", "study_class", "--format", "json")
    groups = json.loads(done.stdout)["groups"]
    assert [row.model for row in found.rows] == ["alder", "birch"]
    assert [row.rank for row in found.rows] == ["1", "2"]
    for row in found.rows:
        cells = [group["cells"] for group in groups]
        assert row.score == f"{cells[0]['green'][row.model]['value']:.3f}"
        names = [group["group"].get("study_class", "all") for group in groups]
        assert [rate.group for rate in row.rates] == names
        for rate, of_group in zip(row.rates, cells, strict=True):
            cell = of_group["green_no_significant_error"][row.model]
            assert rate.value == cell["value"]
            assert (rate.low, rate.high) == (cell["low"], cell["high"])
            assert rate.text == f"{100 * cell['value']:.1f}%"
            assert rate.n == f"{cell['k']} of {cell['n']}"
            low, high = 100 * cell["low"], 100 * cell["high"]
            assert rate.interval == f"[{low:.1f}, {high:.1f}]"
        counted = {
            (error["category"], error["level"]): error
            for error in groups[0]["errors"]
            if error["model"] == row.model
        }
        for cell, category in zip(row.errors, [*"abcdef", None], strict=True):
            grave = counted[category, "significant"]["per_study"]
            mild = counted[category, "insignificant"]["per_study"]
            assert cell.texts == [f"{grave:.3f}", f"{grave + mild:.3f}"]
            n_grave = counted[category, "significant"]["errors"]
            assert f"clinically significant: {n_grave}" in cell.title
            assert cell.title.endswith("in 15 scored studies")
        assert row.n_scored == "15 of 15 scored"
    assert found.rates_heading == "No significant error, by study class"
    about = " ".join(found.about)
    assert (
        "studies without clinically significant errors, of the scored studies" in about
    )


def test_the_most_frequent_errors_are_the_first_that_judge_errors_lists(
    two: tuple[Path, Path], invoke: Invoke
) -> None:
    for run, row in zip(reversed(two), only(screen(*two)).rows, strict=True):
        done = invoke("errors", run, "--min-studies", 1, "--format", "json")
        first = json.loads(done.stdout)["errors"][:3]
        assert [error.title for error in row.frequent] == [
            f"{error['category_label']}: {error['finding'] or '(other)'}"
            for error in first
        ]
        for error, expected in zip(row.frequent, first, strict=True):
            share = f"{100 * expected['value']:.1f}%"
            assert error.share == f"{expected['k']}/{expected['n']} {share}"
            # The gravest such study, of several the first of the run.
            assert error.study_id == expected["examples"][0]


def test_ties_go_to_the_graver_error_and_the_gravest_study_is_shown(
    tmp_path: Path,
) -> None:
    run = answered(
        tmp_path / "a",
        {
            "s1": green(insignificant={"b": EFFUSION, "a": NODULE}),
            "s2": green({"b": EFFUSION}),
            "s3": green(insignificant={"a": NODULE}),
            "s4": None,
        },
    )
    (row,) = only(screen(run)).rows
    assert [error.text for error in row.frequent] == [
        "(b) pleural effusion",
        "(a) nodule",
    ]
    assert [error.share for error in row.frequent] == ["2/3 66.7%", "2/3 66.7%"]
    assert [error.study_id for error in row.frequent] == ["s2", "s1"]
    assert row.n_scored == "3 of 4 scored"
    assert [rate.n for rate in row.rates] == ["2 of 3", "2 of 3"]


def test_a_model_without_scored_studies_or_errors_says_so(tmp_path: Path) -> None:
    a = answered(tmp_path / "a", {"s1": None})
    (row,) = only(screen(a)).rows
    assert row.no_frequent == "No study was scored."
    assert row.n_scored == "0 of 1 scored"
    b = answered(tmp_path / "b", {"s1": green()})
    (row,) = only(screen(b)).rows
    assert row.no_frequent == "No errors."


def test_of_many_classes_and_models_the_largest_and_the_first_are_shown(
    tmp_path: Path,
) -> None:
    studies = [f"s{at}" for at in range(10)]
    sites = dict(
        zip(studies, ["d", "d", "d", "d", "c", "c", "c", "b", "b", "a"], strict=True)
    )
    run = answered(
        tmp_path / "a", dict.fromkeys(studies, green()), fields={"site": sites}
    )
    n_models = MOST_MODELS + 1
    runs = [RunChoice(run, "a", f"model {at}") for at in range(n_models)]
    found = only(screen(*runs, by=("site",)))
    assert len(found.rows) == MOST_MODELS
    groups = [rate.group for rate in found.rows[0].rates]
    assert groups == ["all", "b", "c", "d"]
    about = " ".join(found.about)
    assert f"The {MOST_CLASSES} largest of 4 groups by site." in about
    assert f"The first {MOST_MODELS} of {n_models} models by rank" in about


def test_each_rubric_has_its_table_that_of_the_ranking_first(
    two: tuple[Path, Path], tmp_path: Path, invoke: Invoke
) -> None:
    files = (EXAMPLES / "preds_alder.json", EXAMPLES / "refs.json")
    fine = tmp_path / "fine"
    invoke("fineradscore", *files, "--judge", "lexicon", "--out", fine)
    choices = [RunChoice(run, str(run)) for run in (*two, fine)]
    found = meeting(*compare_runs(choices, None, sort="1/FineRadScore"))
    assert [rubric.name for rubric in found.rubrics] == ["fineradscore", "green"]
    # A model without a run by the rubric has no row.
    assert [row.model for row in found.rubrics[0].rows] == ["alder"]
    # The gravest part of a bar is beside its axis.
    tones = [part.tone for part in found.rubrics[0].rows[0].errors[-1].parts]
    order = ["critical", "serious", "notable", "mild"]
    assert tones == [tone for tone in order if tone in tones]
    assert len(tones) > 1


def test_addresses_lead_to_the_study(two: tuple[Path, Path]) -> None:
    shown = screen(*two)
    first = only(shown).rows[1].frequent[0]
    assert first.address == (f"#view=meeting&study={first.study_id}&a=birch&b=")
    assert first.study_id in shown_studies(shown)
    assert address_in_service("m", "a/b c", "x&y") == "/runs/a%2Fb%20c#study=x%26y"
