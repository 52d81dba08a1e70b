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
from judge.tables.citation import citation, program

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
        "10.9-52.0) had no clinically significant error",
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
    assert "1 of 2 studies were scored; the others, 0 with an answer that" in text
    assert "left out before that: 1 " in text


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
    assert without == ["direct"]  # its question and its scale are our own


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
