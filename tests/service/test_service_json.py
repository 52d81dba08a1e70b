"""Bodies that cannot be read are a 400, whatever they hold, and the service goes on."""

from __future__ import annotations

import pytest
from served import Served


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"reference": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"reference": "a", "reference": "b"}', "duplicate key"),
        ('{"reference": NaN}', "NaN"),
        ('{"reference": "a"', "cut short"),
    ],
)
def test_a_body_that_cannot_be_read(shared_service: Served, body: str, reason: str) -> None:
    http = shared_service.client
    headers = {"Content-Type": "application/json"}
    answer = http.post("/v1/annotations", content=body, headers=headers)
    assert answer.status_code == 400
    assert reason in answer.json()["detail"]
    assert http.get("/v1/runs").status_code == 200
