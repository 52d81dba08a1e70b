"""`judge cite` says what a run recorded; the works that it names stand in the references."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from made_manifests import manifest_of
from support import EXAMPLES, ROOT, Invoke

from judge import Run, rubrics
from judge.rubrics.contract import Source, _sources
from judge.run_files.summary import RunSummary
from judge.stats.statistic import Mean, Rate, Statistic
from judge.tables.citation import _figure, citation, program

PAIR = (str(EXAMPLES / "preds.json"), str(EXAMPLES / "refs.json"))
KEY = re.compile(r"@\w+\{([^,\s]+),")
WORKS = [*_sources().values()]


def test_the_text_says_what_was_compared_by_whom_and_what_came_out(
    invoke: Invoke, judged_examples: Path
) -> None:
    run = Run.open(judged_examples)
    printed = invoke("cite", judged_examples, judged_examples / ".").stdout
    text = printed.split("\n\n")[0]
    for part in (
        "The reports of preds on 15 studies (section findings) were compared",
        "GREEN (Ostmeier et al. 2024), version 4 of the rubric",
        "rule-based baseline: never report its numbers as those of a judge model",
        "Every study was scored.",
        "Over all studies, GREEN was 0.689 (95% CI 0.541-0.806); 26.7% of studies (4/15; 95% CI ",
        "10.9-52.0) had no clinically significant error; there were 1.33 errors per study (95% CI ",
        "0.72-2.48). By study class: over the 10 abnormal studies, GREEN was 0.633 (95% CI ",
        "Over the 5 normal studies, GREEN was 0.800 (95% CI 0.439-0.953); 60.0% of studies (3/5; ",
        f"The signature of the run is {run.signature}.",
    ):
        assert part in text
    # Each work that the text names follows once.
    version = run.signature.rpartition(":")[2]
    works = ["ostmeier2024green", f"judge-{version}", "wilson1927probable"]
    assert KEY.findall(printed) == works
    assert printed.count("{") == printed.count("}")


def test_latex_and_bibtex_cite_the_same(invoke: Invoke, judged_examples: Path) -> None:
    latex, bibtex = (
        invoke("cite", judged_examples, "--format", form).stdout
        for form in ("latex", "bibtex")
    )
    cited = [
        key
        for found in re.findall(r"\\cite\{([^}]*)\}", latex)
        for key in found.split(",")
    ]
    assert list(dict.fromkeys(cited)) == KEY.findall(bibtex)
    assert r"26.7\% of studies (4/15; 95\% CI 10.9-52.0)" in latex
    assert "%" not in re.sub(r"\\%", "", latex)
    assert r"prompt:none\textbar{}section:findings" in latex


def test_what_was_not_scored_is_said(invoke: Invoke) -> None:
    refs = {
        "a": {"report": "Clear lungs."},
        "b": {
            "report": "Los pulmones están claros y no hay derrame en el lado derecho."
        },
    }
    preds = {name: {"prediction": "Clear lungs."} for name in (*refs, "c")}
    Path("refs.json").write_text(json.dumps(refs))
    Path("preds.json").write_text(json.dumps(preds))
    done = invoke("green", "preds.json", "refs.json", "--allow-missing", "--out", "run")
    assert Run.open("run").summary().n_failed == 1, done.output
    text = invoke("cite", "run").stdout
    assert (
        "1 of 2 studies was scored; 1 was not judged, and it is in no figure; left"
        in text
    )
    assert "Over the only scored study, GREEN was 1.000" in text
    assert "left out before that: 1 " in text


def text_by(invoke: Invoke, run: object, *by: str) -> str:
    words = [word for field in by for word in ("--by", field)]
    done = invoke("cite", run, *words)
    assert done.exit_code == 0, done.stderr
    return str(done.stdout).split("\n\n")[0]


def test_a_run_without_a_scored_study_has_no_figures(invoke: Invoke) -> None:
    spanish = "Los pulmones están claros y no hay derrame en el lado derecho."
    refs = {name: {"report": spanish} for name in "ab"}
    preds = {name: {"prediction": "Clear lungs."} for name in refs}
    Path("refs.json").write_text(json.dumps(refs))
    Path("preds.json").write_text(json.dumps(preds))
    more = ("--out", "run", "--min-coverage", 0)
    assert invoke("green", "preds.json", "refs.json", *more).exit_code == 0
    text = text_by(invoke, "run")
    assert (
        "0 of 2 studies were scored; 2 were not judged, and they are in no figure. The "
        "signature of the run is"
    ) in text


def test_the_figures_are_given_by_any_field(
    invoke: Invoke, judged_examples: Path
) -> None:
    text = text_by(invoke, judged_examples, "site", "site,study_class")
    rates = Run.open(judged_examples).rates("site").set_index("site")
    harbour = rates.loc["harbour", "green"]
    for part in (
        f"over the 7 studies whose site is harbour, GREEN was {harbour:.3f} (95% CI ",
        "Over the 8 studies whose site is riverside, GREEN was ",
        "By site and study class: over the 5 abnormal studies whose site is harbour, GREEN",
        "Over the 3 normal studies whose site is riverside, GREEN was 1.000 (95% CI",
    ):
        assert part in text
    assert "Over the 10 abnormal studies" not in text
    assert "By " not in text_by(invoke, judged_examples, "none")
    done = invoke("cite", judged_examples, "--by", "ward")
    assert done.exit_code == 2
    assert "ward" in done.stderr
    latex = invoke("cite", judged_examples, "--by", "site", "--format", "latex").stdout
    assert r"1.8-40.4" not in latex
    assert r"0.0\% of studies (0/7; 95\% CI " in latex


def test_groups_without_a_value_or_a_score_are_said(invoke: Invoke) -> None:
    spanish = "Los pulmones están claros y no hay derrame en el lado derecho."
    sites = {"a": "x_1", "b": None, "c": "50% & more", "d": "x_1", "e": "x_1"}
    refs = {
        name: {
            "report": "Clear lungs. No effusion.",
            "site": site,
            "study_class": "normal",
        }
        for name, site in sites.items()
    }
    refs["c"]["report"] = spanish
    refs["d"]["report"] = spanish
    refs["e"]["report"] = spanish
    preds = {name: {"prediction": "Clear lungs."} for name in refs}
    Path("refs.json").write_text(json.dumps(refs))
    Path("preds.json").write_text(json.dumps(preds))
    more = ("--out", "run", "--min-coverage", 0)
    assert invoke("green", "preds.json", "refs.json", *more).exit_code == 0
    text = text_by(invoke, "run", "site")
    for part in (
        "2 of 5 studies were scored; 3 were not judged, and they are in no figure.",
        "he only study whose site is 50% & more was not scored. ",
        "Over the only one of 3 studies whose site is x_1 that was scored, GREEN was ",
        "Over the only study without a value of site, GREEN was ",
    ):
        assert part in text
    # All studies are normal: their figures are those of all.
    assert "By study class" not in text_by(invoke, "run")
    latex = invoke("cite", "run", "--by", "site", "--format", "latex").stdout
    assert r"whose site is 50\% \& more" in latex
    assert r"whose site is x\_1" in latex


JUDGED = [name for name in rubrics.built_in() if name != "direct"]
"""The rubrics that the built-in judge answers."""


@pytest.mark.parametrize("rubric", JUDGED)
def test_each_figure_is_a_sentence_with_its_denominator(
    invoke: Invoke, rubric: str
) -> None:
    assert invoke(rubric, *PAIR, "--out", "run").exit_code == 0
    text = text_by(invoke, "run")
    start = text.index("Over all studies, ")
    figures = text[start : text.index("95% confidence intervals")]
    assert "per study was" not in figures
    assert "studies was" not in figures.replace("of the studies' highest", "")
    assert "n/a" not in figures
    clauses = re.split(r"; (?![^(]*\))", figures)
    for clause in clauses:
        assert re.search(r"\b(was|were|had|is)\b", clause), clause
        assert re.search(r"\d+/\d+|95% CI|is not defined", clause), clause


def test_each_clause_of_a_rubric_has_a_place_for_its_figure() -> None:
    n = 0
    for name in rubrics.built_in():
        for statistic in rubrics.load(name).statistics:
            if statistic.clause is not None:
                n += 1
                assert statistic.clause.count("{figure}") == 1, statistic.name
    assert n > 8


@pytest.mark.parametrize(
    ("statistic", "value", "says"),
    [
        (Mean("m", "sighs per study", measures=("m",), higher_is_better=False), 1.0,
         "there were 1.00 sighs per study (95% CI 0.50-1.50)"),
        (Mean("m", "Toy", measures=("m",), higher_is_better=True, scale=(0, 100)), 71.25,
         "Toy was 71.25 (95% CI 0.50-1.50; scale 0 to 100)"),
        (Mean("m", "tiny", measures=("m",), higher_is_better=True), 0.004,
         "tiny was 0.004 (95% CI 0.500-1.500)"),
        (Rate("r", "no loss", measures=("r",), higher_is_better=True), 0.5,
         "50.0% of studies (1/2; 95% CI 50.0-150.0) had no loss"),
        (Rate("r", "fine", measures=("r",), higher_is_better=True,
              definition="studies that are fine"), 0.5,
         "the share of studies that are fine was 50.0% (1/2; 95% CI 50.0-150.0)"),
        (Mean("m", "sighs per study", measures=("m",), higher_is_better=False), None,
         "the number of sighs per study is not defined"),
    ],
)  # fmt: skip
def test_a_statistic_of_a_package_is_a_sentence_too(
    judged_examples: Path, statistic: Statistic, value: float | None, says: str
) -> None:
    summary = Run.open(judged_examples).summary().plain()
    entry = {"n": 2, "value": value, "low": 0.5, "high": 1.5, "n_undefined": 0, "k": 1}
    summary["statistics"][statistic.name] = entry
    assert _figure(RunSummary.model_validate(summary), statistic) == says


def test_what_the_judge_was_told_and_asked_is_said(judged_examples: Path) -> None:
    shard = {"index": 2, "count": 3, "n_whole": 3, "places": "0", "notes_of_input": []}
    rubric = rubrics.load("green")
    manifest = manifest_of(
        rubric,
        "1+aa",
        judge="gpt-x-2026",
        prompt="green@2+aa",
        sampling="max_tokens=900,temperature=0",
        reask=2,
        context=["age", "indication"],
        prior=["earlier"],
        shard=shard,
    )
    summary = Run.open(judged_examples).summary()
    text = citation(manifest, summary, rubric).text
    for part in (
        "gpt-x-2026 (prompt green@2+aa; sampling max_tokens=900, temperature=0; reask 2; ",
        "context age, indication; prior earlier)",
        "These are shard 2/3 of a set.",
    ):
        assert part in text


def test_several_references_are_said(invoke: Invoke) -> None:
    refs = str(EXAMPLES / "references.json")
    more = (
        "--references",
        "best",
        "--allow-missing",
        "--model",
        "模型-1",
        "--out",
        "run",
    )
    assert invoke("green", PAIR[0], refs, *more).exit_code == 0
    text = invoke("cite", "run", "--format", "latex").stdout
    assert text.startswith("The reports of 模型-1 on ")
    assert "combined by the rule best" in text
    assert invoke("cite", "nothing").exit_code == 2


def test_a_work_is_the_one_of_the_references() -> None:
    known = (ROOT / "docs" / "references.md").read_text("utf-8").splitlines()
    for work in WORKS:
        assert any(work.title in row for row in known), work.key
        for kind, name in (("doi", "doi"), ("arXiv", "eprint")):
            if name in work.fields:
                assert any(f"{kind}:{work.fields[name]}" in row for row in known), (
                    work.key
                )
    without = [name for name in rubrics.built_in() if not rubrics.load(name).sources]
    # Their questions and their scales are our own.
    assert without == ["attributes", "direct"]


@pytest.mark.parametrize(
    ("authors", "is_longer", "short"),
    [
        (("Chen, B.", "Cherry, C."), False, "Chen and Cherry 2023"),
        (("Yu, F.", "Endo, M.", "Krishnan, R."), False, "Yu, Endo and Krishnan 2023"),
        (("Yu, F.", "Endo, M.", "Krishnan, R.", "Pan, I."), False, "Yu et al. 2023"),
        (("Min, S.",), True, "Min et al. 2023"),
        (("{The judge authors}",), False, "The judge authors 2023"),
    ],
)
def test_the_short_form_is_the_fields_own(
    authors: tuple[str, ...], is_longer: bool, short: str
) -> None:
    assert (
        Source("key", "misc", "Title", authors, 2023, is_longer=is_longer).short
        == short
    )


def test_an_entry_has_all_fields() -> None:
    entry = Source(
        "k", "misc", "A {B}", ("C, D",), 2024, {"eprint": "1"}, is_longer=True
    ).bibtex
    assert entry == (
        "@misc{k,\n  title = {{A {B}}},\n  author = {C, D and others},\n  year = {2024},\n"
        "  eprint = {1},\n  archiveprefix = {arXiv},\n}"
    )
    assert "version 9.9" in program("9.9").bibtex
