"""The names of runs in addresses."""

from __future__ import annotations

import os
from pathlib import Path

from judge.service.run_names import NAME, names_of

HOME = Path("/srv/runs")


def named(*folders: str) -> list[str]:
    paths = [Path(folder) for folder in folders]
    names = names_of(paths, HOME)
    return [names[path] for path in paths]


def test_a_run_has_the_name_of_its_folder() -> None:
    assert named("/srv/runs/a", "/x/b") == ["a", "b"]


def test_runs_of_one_name_have_their_folders_before_it() -> None:
    assert named("/x/a/good", "/x/b/good") == ["a-good", "b-good"]
    assert named("/x/a/r/good", "/x/b/r/good") == ["a-r-good", "b-r-good"]
    # In whichever order they are given.
    assert named("/x/b/good", "/x/a/good") == ["b-good", "a-good"]


def test_a_run_of_the_service_keeps_its_name() -> None:
    assert named("/x/a/good", "/srv/runs/good") == ["a-good", "good"]
    assert named("/x/a/good", "/srv/runs/good", "/srv/runs/a-good") == [
        "x-a-good",
        "good",
        "a-good",
    ]


def test_every_name_is_safe_in_an_address_and_is_one_runs_alone() -> None:
    odd = [
        "/x/Läufe",
        "/x/two words",
        "/x/研究",
        "/y/研究",
        "/x/..hidden",
        "/x/" + "n" * 200,
        "/y/" + "n" * 200,
        "/x/a?b#c",
        "/x/" + os.fsdecode(b"bytes-\xff"),
        "/good",
        "/x/good",
    ]
    names = named(*odd)
    assert len(set(names)) == len(odd)
    assert all(NAME.fullmatch(name) for name in names)
    assert names[:2] == ["Laufe", "two-words"]
    assert names[4] == "hidden"
