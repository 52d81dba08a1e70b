"""A schema-driven fuzzer over the whole API: it may be refused, it never breaks anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import Served

pytestmark = pytest.mark.ci


def test_no_request_breaks_the_service(shared_service: Served) -> None:
    import schemathesis

    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    described = schemathesis.openapi.from_dict(
        shared_service.client.get("/openapi.json").json()
    )
    operations = [found.ok() for found in described.get_all_operations()]
    assert len(operations) >= 15
    checks = list(HealthCheck)
    for operation in operations:
        cases = [operation.as_strategy(generation_mode=mode) for mode in modes]

        @settings(
            max_examples=30,
            derandomize=True,
            database=None,
            suppress_health_check=checks,
        )
        @given(case=st.one_of(*cases), is_known=st.booleans())
        def every(case: Any, is_known: bool) -> None:
            if is_known and "run" in case.path_parameters:
                case.path_parameters["run"] = (
                    "example-run"  # most made-up names are of no run
                )
            answer = case.call(base_url=shared_service.url, timeout=60)
            assert answer.status_code < 500, answer.text
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == ["application/problem+json"]

        every()
    assert "Traceback" not in shared_service.said
