"""A schema-driven fuzzer over the whole API: it may be refused, it never breaks anything."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import Served

from judge.service.server import application, service_with
from judge.service.settings import ServiceSettings

schemathesis = pytest.importorskip("schemathesis")

EXAMPLES = 30
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
DESCRIBED = application(service_with(ServiceSettings((Path("judge-runs"),))))._app.openapi()  # type: ignore[attr-defined]
OPERATIONS = [
    found.ok() for found in schemathesis.openapi.from_dict(DESCRIBED).get_all_operations()
]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("fuzzed")
    run = shutil.copytree(finished, folder / "examples")
    with Served(folder, run, "--max-upload", 4) as running:
        yield running


def test_every_route_is_described(fuzzed: Served) -> None:
    assert fuzzed.client.get("/openapi.json").json() == DESCRIBED
    assert len(OPERATIONS) >= 15


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_no_request_breaks_the_service(fuzzed: Served, operation: Any) -> None:
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in MODES)),
        known=st.booleans(),
    )
    def every(case: Any, known: bool) -> None:
        if known and "run" in case.path_parameters:
            case.path_parameters["run"] = "examples"  # most made-up names are of no run
        if operation.path.endswith("/events") and known:
            return
        answer = case.call(base_url=fuzzed.url, timeout=30)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json"]
            assert "Traceback" not in answer.text

    every()
    assert "Traceback" not in fuzzed.said
