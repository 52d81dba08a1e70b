"""The reference in docs/reference is what the program makes of itself."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support import ROOT


@pytest.mark.ci
def test_the_reference_is_of_the_program_as_it_is() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site/reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (
        f"stale: python docs/site/reference.py\n{done.stdout}{done.stderr}"
    )
