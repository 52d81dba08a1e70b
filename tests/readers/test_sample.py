"""`judge readers sample`: which studies, how likely each is, and what a larger sample keeps."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import Invoke

from judge.readers.sample import LEAST, SAMPLE, Sample, draw, kept_sample
from judge.running.folder import RunFolder
from judge.types import JudgeError

Columns = dict[str, list[object]]


def studies(**sizes: int) -> Columns:
    """Studies `a0, a1, ..., b0, ...` of the sites a, b, ..."""
    ids = [f"{site}{at}" for site, size in sizes.items() for at in range(size)]
    return {"study_id": list(ids), "site": [study_id[0] for study_id in ids]}


def sizes_of(sample: Sample) -> dict[object, tuple[int, int]]:
    return {s["key"]["site"]: (s["n_studies"], s["n_drawn"]) for s in sample.strata}


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    more=st.integers(0, 300),
    still_more=st.integers(0, 300),
    seed=st.integers(0, 99),
)
def test_a_larger_sample_begins_with_the_smaller(
    sizes: list[int], more: int, still_more: int, seed: int
) -> None:
    columns = studies(**dict(zip("abcdef", sizes, strict=False)))
    least = sum(min(LEAST, size) for size in sizes)
    small = draw(columns, least + more, by=["site"], seed=seed)
    large = draw(columns, least + more + still_more, by=["site"], seed=seed)
    assert large.order[: len(small.order)] == small.order
    for sample, n in ((small, least + more), (large, least + more + still_more)):
        assert (
            len(sample.order)
            == len(set(sample.order))
            == min(n, len(columns["study_id"]))
        )
        drawn = Counter(str(study_id)[0] for study_id in sample.order)
        assert {site: n for site, (_, n) in sizes_of(sample).items()} == drawn
        # No study would have gone with more right to another stratum [Sainte-Laguë].
        for (size, k), (other, of_other) in combinations(sizes_of(sample).values(), 2):
            for (from_, has), (to, lacks) in (
                ((size, k), (other, of_other)),
                ((other, of_other), (size, k)),
            ):
                if has > LEAST and lacks < to:
                    assert from_ / (2 * has - 1) >= to / (2 * lacks + 1)


def test_it_depends_on_the_seed_and_on_no_order_of_the_studies() -> None:
    found = sizes_of(draw(studies(a=600, b=300, c=90, d=10), 100, by=["site"], seed=3))
    assert found == {
        "a": (600, 59),
        "b": (300, 30),
        "c": (90, 9),
        "d": (10, 2),
    }  # 10 in 1,000: 1
    columns = studies(a=20, b=10)
    turned = {name: column[::-1] for name, column in columns.items()}
    sample = draw(columns, 12, by=["site"], seed=1)
    assert draw(turned, 12, by=["site"], seed=1) == sample
    assert draw(columns, 12, by=["site"], seed=2).order != sample.order
    # Whoever draws more in another version must get the same ones.
    assert sample.order[:6] == ("a0", "b6", "a7", "b1", "a17", "a6")
    few = studies(a=5, b=1, c=9)
    assert len(draw(few, 5, by=["site"], seed=1).order) == 5
    with pytest.raises(JudgeError, match="at least 5 with --limit"):
        draw(few, 4, by=["site"], seed=1)


def test_each_study_is_as_likely_as_its_stratum_says_and_so_is_each_pair() -> None:
    columns, n_draws = studies(a=12, b=6, c=3), 2000
    one, two = Counter[str](), Counter[frozenset[str]]()
    for seed in range(n_draws):
        sample = draw(columns, 10, by=["site"], seed=seed)
        one.update(sample.order)
        two.update(map(frozenset, combinations(sample.order, 2)))
    wanted = {"a": (12, 5), "b": (6, 3), "c": (3, 2)}
    assert sizes_of(sample) == wanted

    def check(n: int, p: float) -> None:
        """Within five standard errors: one in two million by chance."""
        assert abs(n / n_draws - p) <= 5 * (p * (1 - p) / n_draws) ** 0.5

    for study_id in map(str, columns["study_id"]):
        size, k = wanted[study_id[0]]
        check(one[study_id], k / size)
    for first, second in combinations(map(str, columns["study_id"]), 2):
        (size, k), (other, of_other) = wanted[first[0]], wanted[second[0]]
        within = k * (k - 1) / (size * (size - 1))
        p = within if first[0] == second[0] else k / size * of_other / other
        check(two[frozenset((first, second))], p)


def test_a_sample_is_kept_and_grows(invoke: Invoke, example_run: Path) -> None:
    assert invoke("readers", "sample", example_run).exit_code == 2
    done = invoke(
        "readers",
        "sample",
        example_run,
        "--limit",
        6,
        "--strata",
        "study_class",
        "--draw-seed",
        4,
    )
    assert done.exit_code == 0, done.stderr
    first = kept_sample(RunFolder.open(example_run))
    assert ((example_run / SAMPLE).stat().st_mode & 0o077) == 0
    assert json.loads((example_run / SAMPLE).read_text())["strata"] == [
        {"key": {"study_class": "abnormal"}, "n_studies": 10, "n_drawn": 4},
        {"key": {"study_class": "normal"}, "n_studies": 5, "n_drawn": 2},
    ]
    assert (
        invoke("readers", "sample", example_run, "-n", 3).stdout == done.stdout
    )  # six stay
    assert invoke("readers", "sample", example_run, "-n", 11).exit_code == 0
    more = kept_sample(RunFolder.open(example_run))
    assert (more.seed, more.order[:6], len(more.order)) == (4, first.order, 11)
    before = (example_run / SAMPLE).read_bytes()
    for other in (
        ("--draw-seed", 5),
        ("--strata", "site"),
        ("--strata", "study_class,site"),
    ):
        refused = invoke("readers", "sample", example_run, "-n", 12, *other)
        assert refused.exit_code == 2
        assert "--draw-seed 4 --strata study_class" in refused.stderr
    assert (example_run / SAMPLE).read_bytes() == before
    every = json.loads(
        invoke("readers", "sample", example_run, "-n", 99, "--format", "json").stdout
    )
    assert every["n_drawn"] == every["n_studies"] == 15
    assert [one["n_drawn"] for one in every["strata"]] == [10, 5]
    assert every["order"][:11] == [*more.order]


def test_what_cannot_be_drawn(invoke: Invoke, example_run: Path) -> None:
    for args, names in (
        (("-n", 0), "--limit"),
        (("-n", 3), "--limit"),
        (("-n", 5, "--strata", "colour"), "'colour'"),
        (("-n", 5, "--strata", "study_id"), "--limit"),
    ):
        done = invoke("readers", "sample", example_run, *args)
        assert done.exit_code == 2, args
        assert names in done.stderr
    assert not (example_run / SAMPLE).exists()
