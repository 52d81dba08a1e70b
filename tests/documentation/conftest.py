"""The documentation site, built strictly where no connection can be made."""

from __future__ import annotations

from pathlib import Path

import pytest
from sitehelp import build
from support import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as it is published."""
    work = tmp_path_factory.mktemp("documentation")
    done = build(ROOT, work / "site", work / "refusing")
    assert done.returncode == 0, done.stderr
    return work / "site"
