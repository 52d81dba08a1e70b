"""`judge metrics`: ROUGE-L and corpus BLEU, figures of sums, sections side by side."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support import EXAMPLES, Invoke, write_json

from judge import metrics
from judge.metrics.overlap import rouge_l
from judge.metrics.worker import label_counts
from judge.stats.pooled import CHEXBERT, CORPUS_BLEU, F1_CHEXBERT, pooled_cell

REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
PREDS = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))
IDS = list(REFS)
REFERENCES = [one["section_findings"] for one in REFS.values()]
CANDIDATES = [PREDS[study_id]["model_prediction"] for study_id in IDS]
PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


def counts_of(references: list[str], candidates: list[str]) -> dict[str, np.ndarray]:
    (found,) = metrics.compute("corpus_bleu", references, candidates)
    assert isinstance(found, metrics.Counted)
    return {name: np.array(column) for name, column in found.counts.items()}


def bleus(references: list[str], candidates: list[str]) -> list[float | None]:
    counts = counts_of(references, candidates)
    rows = range(len(references))
    return [pooled_cell(figure, counts, rows).value for figure in CORPUS_BLEU]


def test_corpus_bleu_by_hand() -> None:
    # Words 3 of 4 and 2 of 2, pairs 1 of 3 and 1 of 1, no triple; 6 words against 7.
    found = bleus(
        ["no large pleural effusion", "lungs are clear"],
        ["no pleural effusion seen"] * 1 + ["are clear"],
    )
    penalty = math.exp(1 - 7 / 6)
    assert found == pytest.approx([5 / 6 * penalty, math.sqrt(5 / 6 * 2 / 4) * penalty, 0, 0])


def test_corpus_bleu_is_sacrebleus_and_not_the_mean_of_studies() -> None:
    from sacrebleu.metrics import BLEU

    found = bleus(REFERENCES, CANDIDATES)
    for n, value in enumerate(found, 1):
        scorer = BLEU(tokenize="none", force=True, max_ngram_order=n, smooth_method="none")
        assert value == pytest.approx(scorer.corpus_score(CANDIDATES, [REFERENCES]).score / 100)
    alone = [bleus([one], [other])[3] for one, other in zip(REFERENCES, CANDIDATES, strict=True)]
    assert abs(np.mean(alone) - found[3]) > 0.02


@pytest.mark.parametrize(
    ("reference", "candidate", "found"),
    [
        ("", "Clear.", [0, None, None, None]),
        ("Clear.", "", [None] * 4),
        ("", "", [None] * 4),
        ("", "No effusion is seen.", [0] * 4),
    ],
)
def test_bleu_is_a_number_where_candidates_have_as_many_words(
    reference: str, candidate: str, found: list[float | None]
) -> None:
    assert bleus([reference], [candidate]) == found
    (rouge,) = metrics.compute("rougel", [reference], [candidate])
    assert rouge.values == (0,)


def test_what_no_candidate_has_words_for_is_said(invoke: Invoke, tmp_path: Path) -> None:
    reports = {name: {"report": "No large effusion."} for name in "abc"}
    write_json(tmp_path / "p.json", reports)
    write_json(tmp_path / "r.json", reports | {"a": {"report": "No effusion at all."}})
    done = invoke("metrics", "p.json", "r.json", "--metric", "corpus_bleu")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"BLEU-4 \(corpus\) +n/a where no candidate has 4 words\n", done.stdout)
    assert re.search(r"BLEU-4 \(corpus\) +3 +n/a *\n", done.stdout)
    assert "BLEU-3 (corpus)  n/a" not in done.stdout


def test_where_all_draws_are_alike_there_is_no_interval() -> None:
    counts = counts_of(["no large pleural effusion seen"] * 3, ["no large pleural effusion"] * 3)
    cell = pooled_cell(CORPUS_BLEU[0], counts, range(3))
    assert cell.value == pytest.approx(math.exp(1 - 5 / 4))
    assert (cell.low, cell.high) == (None, None)
    # Nor where a draw may have none of the n-grams.
    counts = counts_of(["no large pleural effusion", ""], ["no small pleural effusion", ""])
    assert pooled_cell(CORPUS_BLEU[0], counts, range(2)).value == 3 / 4
    assert pooled_cell(CORPUS_BLEU[0], counts, range(2)).low is None


def test_rouge_l_by_hand() -> None:
    # "effusions" and "effusion" have one stem; in order: no, effusion; case and stop do not count.
    (found,) = metrics.compute("rougel", ["No large effusion."], ["no pleural EFFUSIONS"])
    assert found.values == (pytest.approx(2 / 3),)
    assert found.metric.label == "ROUGE-L"


def test_reports_that_rouge_cannot_read_have_none(invoke: Invoke, tmp_path: Path) -> None:
    reports = {"a": "无胸腔积液。", "b": "No effusion."}
    for name in ("p.json", "r.json"):
        write_json(tmp_path / name, {one: {"report": text} for one, text in reports.items()})
    done = invoke("metrics", "p.json", "r.json", "--metric", "rougel,bleu2", "--out", "m.csv")
    assert done.exit_code == 3
    assert "ROUGE-L is missing: 2 of 4 reports are in another script than Latin" in done.stderr
    assert "ROUGE-L" not in done.stdout
    assert rouge_l(["Œdème."], ["Œdème."]) == (1.0,)


@pytest.mark.parametrize(
    "report",
    [
        "胸部CT：两肺清晰，心影不大。",  # noqa: RUF001
        "胸部CT：右肺上叶结节1.5cm，考虑恶性。",  # noqa: RUF001
        "КТ ОГК (CT): узел 12 мм в S3 правого лёгкого.",  # noqa: RUF001
        "胸部ＣＴ：両肺に異常なし。",  # noqa: RUF001
        "صورة الصدر: لا يوجد انصباب 2",
        "２０２４",  # noqa: RUF001
    ],
)
def test_a_digit_or_an_abbreviation_is_not_a_report_that_rouge_reads(report: str) -> None:
    found = metrics.compute("rougel", ["CT: clear lungs.", "Clear."], [report, "Clear."])
    assert isinstance(found, metrics.Missing)
    assert "1 of 4 reports are in another script than Latin" in found.why


@pytest.mark.parametrize(
    "report",
    [
        "Größe und Form des Herzens unauffällig, keine Ergüsse.",
        "Pas d'épanchement pleural ; cœur élargi, œdème.",
        "Phổi hai bên sáng, không có tràn dịch màng phổi, bóng tim không to.",
        "Płuca bez zmian ogniskowych. Ł",
        "Se\u0301quelles a\u0300 droite.",
        "Effusion of 2 cm (~30 \u03bcL), ±1.",
        "",
        "12",
        "...",
    ],
)
def test_letters_with_accents_are_latin(report: str) -> None:
    (found,) = metrics.compute("rougel", [report], [report])
    assert found.values == ((1.0,) if re.search(r"\w", report) else (0.0,))


def test_the_interval_is_of_resampled_sums() -> None:
    counts = counts_of(REFERENCES, CANDIDATES)
    cell = pooled_cell(CORPUS_BLEU[3], counts, range(15))
    table = np.stack([counts[name] for name in CORPUS_BLEU[3].columns], axis=1)
    random = np.random.default_rng(1)
    drawn = [
        float(CORPUS_BLEU[3].of(table[random.integers(0, 15, 15)].sum(axis=0))) for _ in range(4000)
    ]
    assert (cell.low, cell.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.02)
    assert cell.low < cell.value < cell.high
    assert pooled_cell(CORPUS_BLEU[3], counts, [0]).low is None
    assert pooled_cell(CORPUS_BLEU[3], counts, []).value is None


def test_f1_chexbert_by_hand() -> None:
    def labels(*found: str) -> list[int]:
        return [int(name in found) for name in CHEXBERT]

    wanted = [labels("Edema"), labels("Edema", "Fracture"), labels("No Finding")]
    given = [labels("Edema"), labels("Fracture", "Cardiomegaly"), labels()]
    counts = {name: np.array(c, float) for name, c in label_counts(wanted, given).items()}
    found = {one.name: pooled_cell(one, counts, range(3)).value for one in F1_CHEXBERT}
    assert found == pytest.approx(
        {
            # Of five: Edema tp 1 fn 1, Cardiomegaly fp 1. Of all also Fracture tp 1, none fn 1.
            "f1chexbert_5_micro": 2 / (2 + 1 + 1),
            "f1chexbert_5_macro": (2 / 3) / 5,
            "f1chexbert_all_micro": 4 / (4 + 1 + 2),
            "f1chexbert_all_macro": (2 / 3 + 1) / 14,
        }
    )


def figures_in(text: str) -> list[list[str]]:
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if "[" in line]


def test_sections_stand_side_by_side_and_groups_below(invoke: Invoke, tmp_path: Path) -> None:
    # As in RRG24: one source has both sections, one findings alone.
    refs = {
        study_id: {
            "source": "OpenI" if at % 2 else "PadChest",
            "section_findings": one["section_findings"],
            **({"section_impression": one["section_impression"]} if at % 2 else {}),
        }
        for at, (study_id, one) in enumerate(REFS.items())
    }
    preds = {
        study_id: {"section_findings": CANDIDATES[at], "section_impression": "No acute disease."}
        for at, study_id in enumerate(IDS)
    }
    write_json(tmp_path / "r.json", refs)
    write_json(tmp_path / "p.json", preds)
    line = ("metrics", "p.json", "r.json", "--metric", "rougel,corpus_bleu", "--by", "source")
    sections = ("--section", "findings,impression")
    assert invoke(*line, *sections).exit_code == 2  # half of the studies lack the impression
    done = invoke(*line, *sections, "--allow-missing", "--out", "m.csv")
    assert done.exit_code == 0, done.stderr
    head = next(line for line in done.stdout.splitlines() if "metric" in line)
    assert re.split(r"\s{2,}", head.strip())[2:] == [
        *("findings: studies", "findings", "impression: studies", "impression")
    ]
    rows = {(one[0], one[1]): one[2:] for one in figures_in(done.stdout)}
    assert rows["source PadChest", "ROUGE-L"][0] == "8"
    assert rows["source PadChest", "ROUGE-L"][2:] == ["0", "n/a"]
    assert [rows["source OpenI", "BLEU-4 (corpus)"][at] for at in (0, 2)] == ["7", "7"]
    some = range(1, 15, 2)
    wanted = bleus([REFERENCES[at] for at in some], [CANDIDATES[at] for at in some])[3]
    assert rows["source OpenI", "BLEU-4 (corpus)"][1].startswith(f"{wanted:.3f} ")
    assert "left out (impression)" in done.stdout
    findings = pd.read_csv(tmp_path / "m_findings.csv")
    impression = pd.read_csv(tmp_path / "m_impression.csv")
    assert (len(findings), len(impression)) == (15, 7)
    assert (findings["rougel"] != 0).any()


def test_classes_that_the_files_lack_are_inferred_as_for_rates(
    invoke: Invoke, tmp_path: Path
) -> None:
    write_json(tmp_path / "r.json", {"1": "The lungs are clear.", "2": "Large left effusion."})
    write_json(tmp_path / "p.json", {"1": "The lungs are clear.", "2": "No effusion."})
    done = invoke("metrics", "p.json", "r.json", "--by", "study_class")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"study class +inferred by the lexicon for 2 of 2 studies\n", done.stdout)
    assert re.search(r"study_class normal +BLEU-2 +1 +1\.000\n", done.stdout)
    assert "inferred" not in invoke("metrics", *PAIR, "--by", "study_class").stdout


@pytest.mark.parametrize(
    ("command", "options", "several"),
    [
        ("metrics", (), True),
        ("green", (), True),
        ("export", ("--to", "rexrank", "--out", "o.json"), False),
        ("check", (), False),
    ],
)
def test_help_speaks_of_several_sections_where_they_are_taken(
    invoke: Invoke, command: str, options: tuple[str, ...], *, several: bool
) -> None:
    assert ("Several, with commas" in invoke(command, "--help").stdout) is several
    done = invoke(command, *PAIR, "--section", "findings,impression", *options)
    assert ("unknown section 'findings,impression'" in done.stderr) is not several


def test_an_unknown_field_is_refused_before_the_work(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("metrics", *PAIR, "--by", "source")
    assert done.exit_code == 2
    assert "cannot group by 'source'" in done.stderr
    assert "site" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_library_that_is_not_there_is_named(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("judge.metrics.importlib.util.find_spec", lambda _: None)
    done = invoke("metrics", *PAIR, "--metric", "rougel,corpus_bleu,f1chexbert,bleu2")
    assert done.exit_code == 3
    for words in (
        "ROUGE-L is missing: it comes with the package rouge-score: pip install",
        "corpus BLEU is missing: it comes with the package sacrebleu: pip install",
        "F1-CheXbert is missing: it comes with the package radeval: pip install",
    ):
        assert words in done.stderr
    assert list(pd.read_csv(tmp_path / "metrics_preds.csv")) == ["study_id", "model", "bleu2"]


def test_compare_takes_rouge_l_and_passes_over_the_counts(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("green", *PAIR, "--out", "run").exit_code == 0
    assert (
        invoke("metrics", *PAIR, "--metric", "rougel,corpus_bleu", "--out", "m.csv").exit_code == 0
    )
    done = invoke("compare", "run", "--metrics", "m.csv", "--format", "json")
    assert done.exit_code == 0, done.stderr
    (cells,) = [group["cells"] for group in json.loads(done.stdout)["groups"]]
    values = pd.read_csv(tmp_path / "m.csv")["rougel"]
    assert cells["rougel"][next(iter(cells["rougel"]))]["value"] == pytest.approx(values.mean())
    assert not any("bleu" in name for name in cells)
    assert "counts of corpus BLEU" in done.stdout
    assert invoke("metrics", *PAIR, "--metric", "corpus_bleu", "--out", "b.csv").exit_code == 0
    done = invoke("compare", "run", "--metrics", "b.csv")
    assert done.exit_code == 2
    assert "b.csv holds no metric of single studies" in done.stderr
