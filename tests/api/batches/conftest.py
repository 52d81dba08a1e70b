"""What batches do is the same for every rubric."""

from __future__ import annotations

import pytest

from judge import rubrics
from judge.rubrics import Rubric


@pytest.fixture
def rubric() -> Rubric:
    return rubrics.load("green")
