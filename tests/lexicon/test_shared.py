import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest
from mutations import mutations

from judge.backends.lexicon import compare, load, study_class

SHARED = Path(__file__).parents[3] / "shared" / "data" / "iu_xray"
LEXICON = load()

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the shared reports are not here"),
]


@pytest.fixture(scope="module")
def studies():
    return json.loads((SHARED / "refs.json").read_text(encoding="utf-8"))


def texts(studies, field):
    return {
        key: study[field]
        for key, study in studies.items()
        if isinstance(study[field], str) and study[field].strip()
    }


@pytest.mark.parametrize("field", ["section_findings", "section_impression", "report"])
def test_a_report_agrees_with_itself(studies, field):
    found = texts(studies, field)
    assert len(found) > 500
    for key, text in found.items():
        told = compare(text, text, LEXICON)
        assert told.discrepancies == (), key
        assert told.matched, key


@pytest.mark.parametrize("field", ["section_findings", "report"])
def test_the_inferred_class_agrees_with_the_curators(studies, field):
    found = texts(studies, field)
    same = [
        study_class(text, LEXICON) == studies[key]["study_class"] for key, text in found.items()
    ]
    assert fmean(same) >= 0.93


def green(reference, candidate):
    told = compare(reference, candidate, LEXICON)
    significant = sum(error.severity >= 2 for error in told.discrepancies)
    matched = len(told.matched)
    return matched / (matched + significant) if matched else 0.0


def test_near_misses_score_higher_than_the_reports_of_other_patients(studies):
    means = {}
    for name in ("neighbour", "indication", "random"):
        candidates = json.loads((SHARED / f"preds_{name}.json").read_text(encoding="utf-8"))
        means[name] = fmean(
            green(study["section_findings"], candidates[key]["model_prediction"])
            for key, study in studies.items()
        )
    assert means["neighbour"] > max(means["indication"], means["random"])


def test_one_changed_word_is_one_error_of_its_category(studies):
    right, total = defaultdict(int), defaultdict(int)
    for text in texts(studies, "section_findings").values():
        for kind, category, reference, candidate in mutations(text, LEXICON):
            told = compare(reference, candidate, LEXICON).discrepancies
            right[kind] += [error.category.value for error in told] == [category]
            total[kind] += 1
    shares = {kind: right[kind] / total[kind] for kind in total}
    assert sum(total.values()) > 1200
    assert sum(right.values()) > 0.97 * sum(total.values()), shares
    # What is dropped in one place is often said again in another: then nothing is omitted.
    least = {"dropped change": 0.88, "added change": 0.88}
    for kind, share in shares.items():
        assert share >= least.get(kind, 0.95), shares
