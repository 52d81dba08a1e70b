"""The tables of the page about the service's API are of what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from served import Served
from support import ROOT

PAGE = ROOT / "docs/service-api.md"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("page")) as running:
        yield running


def test_the_table_of_fields_names_what_there_is(service: Served) -> None:
    described = service.client.get("/openapi.json").json()["components"]["schemas"]
    known = {*described["OneStudy"]["properties"]}
    table = PAGE.read_text("utf-8").partition("| field |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.count("|") > 3]
    shown = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert shown <= known
    assert {"reference", "candidate", "prior", "section", "reask"} <= shown
