"""The service's processes are this program's, whatever lies in the folder it is started from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from served import Served

from judge.metrics import Missing, compute

RAISES = "raise RuntimeError('this is a file of the user')"


class Installed(Served):
    """The installed program, which does not look for modules where it is started."""

    program = (str(Path(sys.executable).with_name("judge")),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "judge.py").write_text(RAISES)
    (tmp_path / "judge").mkdir()
    (tmp_path / "judge" / "__init__.py").write_text(RAISES)
    return tmp_path


def test_a_users_own_judge_does_not_stand_in_for_ours(folder: Path, finished: Path) -> None:
    with Installed(folder, finished) as service:
        assert service.annotate().status_code == 200
        name = service.start_run().json()["id"]
        assert service.until_state(name, "finished", "failed")["state"] == "finished"
        runs = service.client.get("/v1/runs").json()["runs"]
        asked = {"run": [run["id"] for run in runs], "name": ["a", "b"]}
        compared = service.client.get("/v1/comparison", params=asked)
        assert compared.status_code == 200, compared.text


def test_nor_when_a_metric_is_computed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("judge.metrics.importlib.util.find_spec", lambda _: object())
    found = compute("ratescore", ["a"], ["a"])
    # What it lacks here is the package, not this program.
    assert isinstance(found, Missing)
    assert "radeval" in found.why
    assert "this is a file of the user" not in found.why
