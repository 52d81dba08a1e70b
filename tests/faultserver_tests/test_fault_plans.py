"""What goes wrong is known beforehand."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import pytest
from faultserver import LASTING, Behaviour, Fault, Outage, StudyPlan, always, first, spread
from faultserver.behaviour import changed
from hypothesis import given
from hypothesis import strategies as st

KEYS = [f"study-{number:04d}" for number in range(500)]
FAULTS = st.sampled_from([fault for fault in Fault if fault is not Fault.REFUSED])
PLANS = st.builds(
    StudyPlan, st.lists(st.none() | FAULTS, max_size=4).map(tuple), st.none() | FAULTS
)


def test_spread_is_exact_and_disjoint() -> None:
    shares = {
        Fault.RATE_LIMIT: 0.05,
        Fault.SERVER_ERROR: 0.02,
        Fault.DROP: 0.01,
        Fault.MALFORMED: 0.02,
    }
    plans = spread(KEYS, shares, seed=1)
    assert Counter(plan.at(0) for plan in plans.values()) == {
        Fault.RATE_LIMIT: 25,
        Fault.SERVER_ERROR: 10,
        Fault.DROP: 5,
        Fault.MALFORMED: 10,
    }
    assert Counter(plan.at(1) for plan in plans.values()) == {None: 40, Fault.MALFORMED: 10}
    assert plans == spread(reversed(KEYS), shares, seed=1)
    assert plans != spread(KEYS, shares, seed=2)
    with pytest.raises(ValueError, match="501 studies"):
        spread(KEYS, {Fault.DROP: 501 / 500})


def test_rates_are_kept_and_decided_by_seed_and_study_alone() -> None:
    behaviour = Behaviour(seed=3, rates={Fault.SERVER_ERROR: 0.2, Fault.MALFORMED: 0.1})
    plans = behaviour.plan(KEYS)
    transient = [key for key in KEYS if plans[key].at(0) is Fault.SERVER_ERROR]
    lasting = [key for key in KEYS if plans[key].then is Fault.MALFORMED]
    assert 70 <= len(transient) <= 130
    assert 30 <= len(lasting) <= 70
    assert {plans[key].at(1) for key in transient} <= {None, Fault.MALFORMED}
    assert all(plans[key].at(9) is Fault.MALFORMED for key in lasting)
    assert set(transient) & set(lasting), "the two kinds are drawn apart"
    assert plans == {key: behaviour.plan_of(key) for key in reversed(KEYS)}
    assert plans != dataclasses.replace(behaviour, seed=4).plan(KEYS)


def test_every_early_request_draws_anew() -> None:
    behaviour = Behaviour(rates={Fault.DROP: 0.5}, rate_attempts=3)
    drawn = Counter(tuple(behaviour.plan_of(key).at(at) for at in range(4)) for key in KEYS)
    assert all(attempts[3] is None for attempts in drawn)
    assert len(drawn) == 8


def test_a_rate_of_one_hits_all_and_of_zero_none() -> None:
    for fault in Fault:
        if fault is not Fault.REFUSED:
            hit = Behaviour(rates={fault: 1.0}).plan(KEYS[:20]).values()
            assert {plan.at(0) for plan in hit} == {fault}
            assert {plan.at(1) for plan in hit} == {fault if fault in LASTING else None}
            missed = Behaviour(rates={fault: 0.0}).plan(KEYS).values()
            assert {plan.at(0) for plan in missed} == {None}


def test_a_studys_own_plan_comes_before_rates() -> None:
    behaviour = Behaviour(rates={Fault.DROP: 1.0}, studies={"study-1": first(None, Fault.RESET)})
    assert [behaviour.plan_of("study-1").at(at) for at in range(3)] == [None, Fault.RESET, None]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Behaviour(rates={Fault.DROP: 0.6, Fault.RESET: 0.6}),
        lambda: Behaviour(rates={Fault.REFUSED: 0.1}),
        lambda: Behaviour(refused_parameters={"seed": "nonsense"}),
        lambda: always(Fault.REFUSED),
        lambda: changed(Behaviour(), {"latensy": 1}),
        lambda: changed(Behaviour(), {"rates": {"explode": 0.1}}),
    ],
)
def test_what_cannot_be_is_refused(make) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - five different texts
        make()


@given(
    st.builds(
        Behaviour,
        seed=st.integers(),
        rates=st.dictionaries(FAULTS, st.floats(0, 0.03), max_size=5),
        studies=st.dictionaries(st.text(max_size=5), PLANS, max_size=5),
        outage=st.none() | st.builds(Outage, st.sampled_from(Fault), st.floats(0, 9), st.none()),
        latency=st.floats(0, 1),
        slots=st.none() | st.integers(1, 9),
        api_keys=st.none() | st.lists(st.text(max_size=5)).map(tuple),
    )
)
def test_a_behaviour_survives_its_way_over_the_wire(behaviour: Behaviour) -> None:
    sent = json.loads(json.dumps(dataclasses.asdict(behaviour)))
    assert changed(Behaviour(), sent) == behaviour


def test_latency_is_drawn_by_seed_and_request() -> None:
    behaviour = Behaviour(latency=0.1, latency_sigma=0.5)
    drawn = [behaviour.seconds(key, 0) for key in KEYS]
    assert drawn == [behaviour.seconds(key, 0) for key in KEYS]
    assert sorted(drawn)[len(drawn) // 2] == pytest.approx(0.1, rel=0.2)
    assert behaviour.seconds("study-1", 0) != behaviour.seconds("study-1", 1)
    assert {Behaviour(latency=0.1).seconds(key, 0) for key in KEYS} == {0.1}
