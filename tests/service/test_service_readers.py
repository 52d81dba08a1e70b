"""A reader's run in the service: listed, shown and compared as any other."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from served import Served
from support import EXAMPLES

from judge.cli import main


def test_a_readers_run_is_served(tmp_path: Path, finished: Path) -> None:
    out = tmp_path / "readers"
    file = EXAMPLES / "readers" / "readings.csv"
    args = ["import", "tidy", str(file), "--section", "findings", "--out", str(out)]
    assert CliRunner().invoke(main, args).exit_code == 0
    with Served(tmp_path, finished, out / "reader-fern", out / "reader-reed") as service:
        listed = {one["id"]: one for one in service.client.get("/v1/runs").json()["runs"]}
        assert listed["reader-fern"]["judge"] == "reader:fern"
        figures = {one["label"]: one["text"] for one in listed["reader-fern"]["headline"]}
        assert figures["GREEN"] == "n/a (15 undefined)"
        assert figures["no significant error"].startswith("6/15 40.0%")
        shown = service.client.get("/v1/runs/reader-fern/study?id=ex-015").json()
        labels = [one["labels"]["category"] for one in shown["view"]["items"]]
        assert labels == [["b"], ["b"], ["a"], ["a"], ["poor_wording"]]
        assert shown["view"]["measures"]["green"] is None
        assert shown["view"]["lists"] == []
        # Counted errors without text are told apart, so that each can be reviewed.
        counted = service.client.get("/v1/runs/reader-reed/study?id=ex-015").json()
        assert len(set(counted["fingerprints"])) == 5
