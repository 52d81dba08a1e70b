"""`judge runs verify` of run folders, and of zips that are no pack."""

from __future__ import annotations

import json
import stat
import sys
import zipfile
from pathlib import Path

import pytest
from answered_runs import records_of, rewrite
from support import Invoke, write_json

from judge.pack import archive
from judge.pack.archive import zipped


def results(stdout: str) -> dict[str, bool]:
    return {check["check"]: check["holds"] for check in json.loads(stdout)}


def test_a_run_as_it_was_written_holds(invoke: Invoke, judged_examples: Path) -> None:
    done = invoke("runs", "verify", judged_examples, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert results(done.stdout) == dict.fromkeys(
        ("signature", "records", "figures"), True
    )


def test_a_changed_record_is_found(invoke: Invoke, example_run: Path) -> None:
    records = records_of(example_run)
    records[3]["candidate"] = "Another report."
    # Each line has its right checksum again: the digest of all studies tells.
    rewrite(example_run, records)
    done = invoke("runs", "verify", example_run, "--format", "json")
    assert done.exit_code == 1
    assert results(done.stdout)["records"] is False


@pytest.mark.parametrize(
    ("file", "change", "check"),
    [
        ("summary.json", ("0.8059104126024469", "0.81"), "figures"),
        ("manifest.json", ("section:findings", "section:report"), "signature"),
    ],
)
def test_a_changed_file_is_found(
    invoke: Invoke, example_run: Path, file: str, change: tuple[str, str], check: str
) -> None:
    path = example_run / file
    text = path.read_text("utf-8")
    assert change[0] in text
    path.write_text(text.replace(*change), "utf-8")
    done = invoke("runs", "verify", example_run, "--format", "json")
    assert done.exit_code == 1, done.stderr
    assert results(done.stdout)[check] is False
    table = invoke("runs", "verify", example_run)
    assert table.exit_code == 1
    assert "FAILS" in table.stdout


def refused(invoke: Invoke, path: Path) -> str:
    done = invoke("runs", "verify", path)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("Error: ")
    return str(done.stderr)


def test_what_is_no_pack_is_one_sentence(invoke: Invoke) -> None:
    text = Path("notes.zip")
    text.write_text("no zip")
    assert "is no zip that can be read" in refused(invoke, text)
    assert "No such file" in refused(invoke, Path("absent.zip"))
    other = Path("other.zip")
    other.write_bytes(zipped({"a.txt": b"a"}))
    assert "other.zip has no pack.json" in refused(invoke, other)
    later = Path("later.zip")
    later.write_bytes(zipped({"pack.json": b'{"format": 9, "runs": [], "files": {}}'}))
    assert "verify it with the version that made it" in refused(invoke, later)
    odd = Path("odd.zip")
    odd.write_bytes(zipped({"pack.json": b'{"format": 1, "runs": 3}'}))
    assert "cannot read pack.json of odd.zip: 'runs'" in refused(invoke, odd)
    link = Path("link.zip")
    link.symlink_to(other)
    assert "it is a link" in refused(invoke, link)
    Path("empty").mkdir()
    assert refused(invoke, Path("empty"))


def entry(name: str, mode: int = stat.S_IFREG | 0o600) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize(
    ("name", "mode", "why"),
    [
        ("../above.txt", stat.S_IFREG, "its name is no plain path"),
        ("/etc/passwd", stat.S_IFREG, "its name is no plain path"),
        ("a/../../b", stat.S_IFREG, "its name is no plain path"),
        ("C:temp", stat.S_IFREG, "its name is no plain path"),
        ("a//b", stat.S_IFREG, "its name is no plain path"),
        ("bell\x07", stat.S_IFREG, "its name is no plain path"),
        ("link", stat.S_IFLNK, "it is a link or a device"),
        ("PACK.json", stat.S_IFREG, "it is there twice"),
    ],
)
def test_an_entry_that_could_lead_elsewhere_is_refused(
    invoke: Invoke, name: str, mode: int, why: str
) -> None:
    path = Path("evil.zip")
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(entry("pack.json"), "{}")
        made.writestr(entry(name, mode), "x")
    assert why in refused(invoke, path)
    assert sorted(at.name for at in Path().iterdir()) == ["evil.zip"]


def test_a_bomb_is_refused_before_it_is_unpacked(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path("bomb.zip")
    path.write_bytes(zipped({"pack.json": b"{}", "zeros": bytes(10**6)}))
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(archive, "MOST_BYTES", 10**5)
    assert "holds 1,000,002 bytes when unpacked" in refused(invoke, path)
    monkeypatch.setattr(archive, "MOST_BYTES", 10**9)
    monkeypatch.setattr(archive, "MOST_FILES", 1)
    assert "has 2 files; a pack has 1 at the most" in refused(invoke, path)


def test_an_entry_that_is_longer_than_it_says_is_damaged(invoke: Invoke) -> None:
    path = Path("liar.zip")
    data = zipped({"pack.json": b" " * 5000})
    # The size in the central directory, where zipfile looks.
    path.write_bytes(
        data.replace((5000).to_bytes(4, "little"), (50).to_bytes(4, "little"))
    )
    assert "'pack.json' is damaged" in refused(invoke, path)


def test_a_pack_needs_a_new_folder(invoke: Invoke, judged_examples: Path) -> None:
    taken = Path("taken")
    taken.mkdir()
    write_json(taken / "mine.json", {})
    done = invoke("cite", judged_examples, "--pack", taken)
    assert done.exit_code == 2
    assert [path.name for path in taken.iterdir()] == ["mine.json"]


@pytest.mark.parametrize("package", ["typst", "vl_convert"])
def test_without_the_extra_one_sentence_says_what_to_install(
    invoke: Invoke,
    judged_examples: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = invoke("cite", judged_examples, "--pack", "evidence")
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert (
        "pip install 'typst>=0.15' 'vl-convert-python>=1.9' (the extra pack)"
        in done.stderr
    )
    assert not Path("evidence").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--sample", 3), "--sample goes with --pack"),
        (("--draw-seed", 3), "--draw-seed goes with --pack"),
        (("--with-reports",), "--with-reports goes with --pack"),
        (("--pack", "new", "--format", "latex"), "--format goes with the text"),
    ],
)
def test_no_option_is_ignored(
    invoke: Invoke, judged_examples: Path, words: tuple[object, ...], why: str
) -> None:
    done = invoke("cite", judged_examples, *words)
    assert done.exit_code == 2
    assert why in done.stderr
