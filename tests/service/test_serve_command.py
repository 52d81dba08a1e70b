"""`judge serve` from the command line: what it refuses, how it starts and ends."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from served import Served
from support import Invoke


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("no-run",), "no-run"),
        (("--token", " "), "token"),
        (("--offer", "=http://x/v1"), "--offer"),
        (("--host", "no.such.host.invalid"), "--host"),
        (("--runs", "file"), "--runs"),
        (("--budget", "5"), "--offer"),
    ],
)
def test_options_that_cannot_be_end_it(
    invoke: Invoke, tmp_path: Path, options: tuple[str, ...], named: str
) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    done = invoke("serve", *options)
    assert done.exit_code == 2
    assert named in done.stderr


class Installed(Served):
    """The installed program, which does not look for modules where it is started."""

    program = (str(Path(sys.executable).with_name("judge")),)


def test_its_processes_are_this_programs_whatever_lies_in_its_folder(
    tmp_path: Path, judged_examples: Path
) -> None:
    """A user's own judge.py is loaded by nothing; two runs of one name are told apart."""
    (tmp_path / "judge.py").write_text(
        "raise RuntimeError('this is a file of the user')"
    )
    (tmp_path / "other").mkdir()
    shutil.copytree(judged_examples, tmp_path / "other" / judged_examples.name)
    with Installed(
        tmp_path, judged_examples, tmp_path / "other" / judged_examples.name
    ) as service:
        runs = [run["id"] for run in service.client.get("/v1/runs").json()["runs"]]
        assert len(set(runs)) == 2
        name = service.start_run().json()["id"]
        assert service.until_state(name, "finished", "failed")["state"] == "finished"
        asked = {"run": name}
        assert service.client.get("/v1/comparison", params=asked).status_code == 200
    assert service.process.returncode == 130
