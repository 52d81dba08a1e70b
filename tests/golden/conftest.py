"""The folder in which the goldens are computed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from golden import Place, place_in


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A place for all tests of a module: each run is judged once."""
    with place_in(tmp_path_factory.mktemp("golden") / "place") as place:
        yield place
