"""`judge cite` says what a run recorded; the works that it names stand in the references."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import EXAMPLES, ROOT, Invoke

from judge import Run, rubrics
from judge.report.citation import citation, program
from judge.report.words import parts_of
from judge.rubrics import sources
from judge.rubrics.sources import Source

PAIR = (str(EXAMPLES / "preds.json"), str(EXAMPLES / "refs.json"))
KEY = re.compile(r"@\w+\{([^,\s]+),")


@pytest.fixture
def green(invoke: Invoke) -> Path:
    assert invoke("green", *PAIR, "--out", "green").exit_code == 0
    return Path("green")


def works() -> list[Source]:
    return [one for one in vars(sources).values() if isinstance(one, Source)]


def test_the_text_says_what_was_compared_by_whom_and_what_came_out(
    invoke: Invoke, green: Path
) -> None:
    text = invoke("cite", str(green)).stdout.split("\n\n")[0]
    summary = Run(green).summary()
    assert text.startswith(
        "The reports of preds on 15 studies (section findings) were compared with the reference "
        "reports with GREEN (Ostmeier et al. 2024), version 2 of the rubric in judge "
    )
    assert "rule-based baseline: never report its numbers as those of a judge model" in text
    assert "Every study was scored." in text
    assert "GREEN 0.689 [0.541, 0.806]" in text
    assert "no clinically significant error 4/15 26.7% [10.9, 52.0]" in text
    assert text.endswith(f"The signature of the run is {summary['signature']}.")


def test_the_groups_of_the_run_are_said_apart(invoke: Invoke, green: Path) -> None:
    text = invoke("cite", str(green)).stdout.split("\n\n")[0]
    assert (
        "For study_class normal (5 studies, 5 scored): GREEN 0.800 [0.439, 0.953]; no clinically "
        "significant error 3/5 60.0% [23.1, 88.2]." in text
    )
    assert invoke("green", *PAIR, "--by", "site,context", "--out", "many").exit_code == 0
    assert len(Run("many").summary()["rates"]) > 6
    assert "For site" not in invoke("cite", "many").stdout


def test_readings_take_the_judges_bias_out(invoke: Invoke) -> None:
    readings = str(EXAMPLES / "readers" / "readings.csv")
    line = ("import", "tidy", readings, "--section", "findings", "--out", "readers")
    assert invoke(*line).exit_code == 0
    assert invoke("green", "readers/reader-fern", "--out", "judged").exit_code == 0
    printed = invoke("cite", "judged", "--readings", "readers").stdout
    rates = json.loads(
        invoke("rates", "judged", "--readings", "readers", "--format", "json").stdout
    )
    fixed = rates["statistics"]["no_significant_error"]["corrected"]
    assert (
        "Corrected for the judge's bias by prediction-powered inference (Angelopoulos et al. 2023) "
        "with power tuning (Angelopoulos, Duchi and Zrnic 2023) from readings of 15 studies by "
        "fern, moss and reed, all studies: " in printed
    )
    assert f"no clinically significant error {100 * fixed['value']:.1f}% [" in printed
    assert rates["readings"]["signature"] in printed
    assert "at random" not in printed
    assert {"angelopoulos2023ppi", "angelopoulos2023ppipp"} <= {*KEY.findall(printed)}
    two = invoke("cite", "judged", "readers/reader-fern", "--readings", "readers")
    assert (two.exit_code, two.stderr) == (2, "Error: --readings are about one RUN: name one\n")


def test_readings_that_only_the_user_calls_random_are_called_so(invoke: Invoke) -> None:
    with (EXAMPLES / "readers" / "readings.csv").open(encoding="utf-8") as file:
        head, *rows = file.read().splitlines()
    at = head.split(",").index("study_id")
    some = sorted({row.split(",")[at] for row in rows})[1:]
    Path("some.csv").write_text("\n".join([head, *(r for r in rows if r.split(",")[at] in some)]))
    line = ("import", "tidy", "some.csv", "--section", "findings", "--out", "readers")
    done = invoke(*line)
    assert done.exit_code == 0, done.stderr
    assert invoke("green", *PAIR, "--out", "judged").exit_code == 0
    asked = ("cite", "judged", "--readings", "readers")
    assert invoke(*asked).exit_code == 2
    done = invoke(*asked, "--readings-at-random")
    assert done.exit_code == 0, done.stderr
    assert "|random:told|" in done.stdout
    assert ", taken as drawn at random by the user's word, all studies: " in done.stdout


def test_each_work_that_the_text_names_follows_once(invoke: Invoke, green: Path) -> None:
    printed = invoke("cite", str(green), str(green / "."), str(green)).stdout
    assert KEY.findall(printed) == [
        "ostmeier2024green",
        f"judge-{Run(green).signature.rpartition(':')[2]}",
        "wilson1927probable",
    ]
    assert printed.count("{") == printed.count("}")


def test_latex_cites_the_keys_that_bibtex_has(invoke: Invoke, green: Path) -> None:
    latex = invoke("cite", str(green), "--format", "latex").stdout
    entries = invoke("cite", str(green), "--format", "bibtex").stdout
    cited = [key for found in re.findall(r"\\cite\{([^}]*)\}", latex) for key in found.split(",")]
    assert cited == KEY.findall(entries)
    assert r"26.7\% [10.9, 52.0]" in latex
    assert "%" not in re.sub(r"\\%", "", latex)
    assert r"prompt:none\textbar{}section:findings" in latex


def test_as_json_it_is_all_of_it(invoke: Invoke, green: Path) -> None:
    found = json.loads(invoke("cite", str(green), "--format", "json").stdout)
    (run,) = found["runs"]
    assert run["signature"] == Run(green).signature
    assert run["text"] == invoke("cite", str(green)).stdout.split("\n\n")[0]
    assert run["works"] == [one["key"] for one in found["works"]]


def test_what_was_not_scored_is_said(invoke: Invoke) -> None:
    refs = {
        "a": {"report": "Clear lungs."},
        "b": {"report": "Los pulmones están claros y no hay derrame en el lado derecho."},
    }
    preds = {name: {"prediction": "Clear lungs."} for name in (*refs, "c")}
    Path("refs.json").write_text(json.dumps(refs))
    Path("preds.json").write_text(json.dumps(preds))
    done = invoke("green", "preds.json", "refs.json", "--allow-missing", "--out", "run")
    assert Run("run").summary()["n_failed"] == 1, done.output
    text = invoke("cite", "run").stdout
    assert "1 of 2 studies were scored; 0 with an answer that could not be read and 1 that" in text
    assert "left out before that: 1 " in text


def test_what_the_judge_was_told_and_asked_is_said(invoke: Invoke) -> None:
    manifest = {"judge": {"name": "gpt-x", "version": "gpt-x-2026", "note": None}}
    rubric = rubrics.load("green")
    invoke("green", *PAIR, "--out", "run")
    summary = Run("run").summary()
    line = (
        "green:2|judge:gpt-x-2026|prompt:green@2+aa|sampling:max_tokens=900,temperature=0|reask:2"
        "|samples:3|section:findings|context:age,indication|prior:earlier|shard:2/3|version:0.1.0"
    )
    text = citation(manifest, summary, parts_of(line), rubric).text
    assert (
        "The judge was gpt-x-2026, asked with the prompt green@2+aa, with max_tokens=900, "
        "temperature=0, 3 times for each study, up to 2 times more where an answer could not be "
        "parsed. The judge was told the patient's context (age, indication) and an earlier report "
        "(earlier). " in text
    )
    assert "These are shard 2/3 of a set." in text


def test_shards_that_are_missing_are_said(invoke: Invoke) -> None:
    for shard in ("1/3", "2/3"):
        done = invoke("green", *PAIR, "--shard", shard, "--out", f"s{shard[0]}")
        assert done.exit_code == 0, done.stderr
    for out, shards, missing in (
        ("two", ["s1", "s2"], "Shard 3/3 of the set is missing"),
        ("one", ["s1"], "Shards 2-3/3 of the set are missing"),
    ):
        assert invoke("merge", *shards, "--allow-missing", "--out", out).exit_code == 0
        n = Run(out).summary()["n_studies"]
        assert 0 < n < 15
        text = invoke("cite", out).stdout
        wanted = f"{missing}: this is a run of {n} of 15 studies. "
        assert f"{wanted}Every study that is there was scored. " in text


def test_the_interval_of_facts_that_are_all_right_is_wilsons(invoke: Invoke) -> None:
    Path("refs.json").write_text(json.dumps(dict.fromkeys("abc", "Small left effusion.")))
    assert invoke("facts", "refs.json", "refs.json", "--out", "run").exit_code == 0
    one = Run("run").summary()["statistics"]["micro_precision"]
    assert (one["value"], one["high"]) == (1, 1)
    assert 0 < one["low"] < 1
    printed = invoke("cite", "run").stdout
    assert (
        "for ratios by a percentile bootstrap over studies, by Wilson's score method where all "
        "draws are alike (Efron and Tibshirani 1993" in printed
    )
    assert {"efron1993bootstrap", "wilson1927probable"} <= {*KEY.findall(printed)}


def test_the_interval_of_a_mean_at_the_end_of_its_scale_is_wilsons(
    invoke: Invoke, green: Path
) -> None:
    of_end = "for means at an end of their scale by Wilson's score method (Wilson 1927), for rates"
    assert of_end not in invoke("cite", str(green)).stdout
    Path("refs.json").write_text(json.dumps(dict.fromkeys("abc", "Small left effusion.")))
    assert invoke("green", "refs.json", "refs.json", "--out", "run").exit_code == 0
    assert of_end in invoke("cite", "run").stdout


def test_letters_that_pdflatex_lacks_are_said(invoke: Invoke) -> None:
    done = invoke("green", *PAIR, "--model", "模型-1", "--out", "run")
    assert done.exit_code == 0, done.stderr
    latex = invoke("cite", "run", "--format", "latex").stdout
    comment, text = latex.split("\n", 1)
    assert comment == (
        "% pdfLaTeX alone does not print 型 模: use LuaLaTeX or XeLaTeX with a font that has these "
        "letters"
    )
    assert text.startswith("The reports of 模型-1 on 15 studies")
    assert invoke("green", *PAIR, "--out", "plain").exit_code == 0
    assert invoke("cite", "plain", "--format", "latex").stdout.startswith("The reports of ")


def test_a_reader_is_named(invoke: Invoke) -> None:
    readings = str(EXAMPLES / "readers" / "readings.csv")
    assert invoke("import", "auto", readings, "--out", "readers").exit_code == 0
    assert "The reader was fern." in invoke("cite", "readers/reader-fern").stdout


def test_several_references_are_named(invoke: Invoke) -> None:
    several = str(EXAMPLES / "references.json")
    done = invoke(
        "green", PAIR[0], several, "--out", "run", "--references", "best", "--allow-missing"
    )
    assert done.exit_code == 0, done.output
    assert "and a study's numbers were combined by the rule best" in invoke("cite", "run").stdout


@pytest.mark.parametrize("form", ["text", "latex", "bibtex", "json"])
def test_a_folder_that_is_no_run_is_one_message(invoke: Invoke, form: str) -> None:
    done = invoke("cite", "nothing", "--format", form)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "Error: no such run: nothing\n"


@pytest.mark.parametrize("work", works(), ids=lambda work: work.key)
def test_a_work_is_the_one_of_the_references(work: Source) -> None:
    known = (ROOT / "docs" / "references.md").read_text("utf-8")
    numbers = [
        f"{kind}:{work.fields[name]}"
        for kind, name in (("doi", "doi"), ("arXiv", "eprint"))
        if name in work.fields
    ]
    rows = [
        row for row in known.splitlines() if work.title in row or any(n in row for n in numbers)
    ]
    assert rows
    for number in numbers:
        assert any(number in row for row in rows), number
    assert any(work.title in row for row in rows)


def test_every_rubric_whose_numbers_are_published_names_its_source() -> None:
    without = [name for name in rubrics.built_in() if not rubrics.load(name).sources]
    assert without == ["direct"]  # its question and its scale are our own


@pytest.mark.parametrize(
    ("authors", "is_longer", "short"),
    [
        (("Wilson, Edwin B.",), False, "Wilson 2023"),
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
    assert Source("key", "misc", "Title", authors, 2023, is_longer=is_longer).short == short


def test_a_work_has_an_author_and_its_entry_all_fields() -> None:
    with pytest.raises(ValueError, match="no author"):
        Source("key", "misc", "Title", (), 1927)
    entry = Source("k", "misc", "A {B}", ("C, D",), 2024, {"eprint": "1"}, is_longer=True).bibtex
    assert entry == (
        "@misc{k,\n  title = {{A {B}}},\n  author = {C, D and others},\n  year = {2024},\n"
        "  eprint = {1},\n  archiveprefix = {arXiv},\n}"
    )
    assert "version 9.9" in program("9.9").bibtex


def test_it_says_which_classes_were_inferred(invoke: Invoke, tmp_path: Path) -> None:
    studies = [
        {"study_id": one, "findings": "Small effusion.", "model_prediction": "Effusion."}
        | {"study_class": given, "site": site}
        for one, given, site in (("a", "normal", "X"), ("b", "abnormal", "Y"), ("c", None, "X"))
    ]
    (tmp_path / "mix.json").write_text(json.dumps(studies), "utf-8")
    for by in ("site", "study_class"):
        assert invoke("green", "mix.json", "--by", by, "--out", by).exit_code == 0
    assert "For site X (2 studies, 2 scored): " in invoke("cite", "site").stdout
    told = invoke("cite", "study_class").stdout
    what = "2 studies, 2 scored; class inferred from the reference for 1 of all 3"
    assert f"abnormal ({what}): " in told
