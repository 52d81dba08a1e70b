"""Whole packs: the PDF as a reader sees it, the zip, and what verification finds."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from answered_runs import answered, green
from click.testing import CliRunner
from pypdf import PdfReader
from support import EXAMPLES, Invoke, write_json

from judge import Run
from judge.cli import main
from judge.pack import contents
from judge.pack.archive import INDEX, sha256, zipped
from judge.pack.checklists import BLANK

Change = Callable[[dict[str, bytes]], None]


def pdf_text(data: bytes) -> str:
    """All that a PDF shows, each run of white space as one space."""
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]
    text = "\n".join(pages).replace("\u00a0", " ")
    return " ".join(text.split())


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def files_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def pack(*words: object) -> None:
    done = CliRunner().invoke(main, ["cite", *map(str, words)])
    assert done.exit_code == 0, done.stderr


@pytest.fixture(scope="session")
def evidence(judged_examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of the examples. Read it; do not write to it."""
    out = tmp_path_factory.mktemp("packs") / "evidence"
    pack(judged_examples, "--pack", out, "--sample", 8)
    return out


def reports() -> list[str]:
    """The sentences of the example reports, but for short ones."""
    texts = []
    for name in ("preds.json", "refs.json"):
        data = json.loads((EXAMPLES / name).read_text("utf-8"))
        for entry in data.values():
            for value in entry.values():
                texts += re.split(r"(?<=\.)\s+", str(value))
    return [text for text in texts if len(text) > 25]


def test_the_pdf_has_signature_figures_hashes_and_blanks(
    evidence: Path, judged_examples: Path
) -> None:
    run = Run.open(judged_examples)
    text = pdf_text((evidence / "evidence.pdf").read_bytes())
    dense = squeezed(text)
    assert squeezed(run.signature) in dense
    assert "0.689 [0.541, 0.806]" in text
    assert "4/15 26.7% [10.9, 52.0]" in text
    assert "(b) missing finding 6 0.400 1 0.067" in text
    for file in run.manifest.inputs:
        assert file.sha256 in dense
    for version in run.manifest.versions.values():
        assert version in dense
    assert "Checklist MI-CLEAR-LLM, update of 2025" in text
    assert "Checklist TRIPOD-LLM, 2025" in text
    assert text.count(BLANK) == 56
    assert f"the date at which the training data end: {BLANK}" in text
    assert "Of 27 parts" in text
    assert "do not apply to this judge, and 10 are blank and marked" in text
    assert "Ostmeier et al. 2024: GREEN" in text


def test_the_zip_has_what_the_pdf_has_in_files(
    evidence: Path, judged_examples: Path
) -> None:
    files = files_of(evidence / "evidence.zip")
    folder = f"runs/{judged_examples.name}"
    expected = {
        INDEX,
        "README.txt",
        "evidence.pdf",
        "protocol/methods.txt",
        "protocol/references.bib",
        *(
            f"{folder}/{name}"
            for name in ("manifest.json", "studies.csv", "summary.json")
        ),
        *(f"{folder}/tables/{name}.csv" for name in ("rates", "errors")),
        *(f"{folder}/checklists/{name}.csv" for name in ("mi-clear-llm", "tripod-llm")),
        *(f"{folder}/{name}" for name in ("sample.csv", "sample.json")),
        *(
            f"figures/{judged_examples.name}/{name}.svg"
            for name in (
                "rates_green",
                "errors_green",
                "scores_green",
                "scores_green_errors",
            )
        ),
    }
    assert files.keys() == expected
    assert files["evidence.pdf"] == (evidence / "evidence.pdf").read_bytes()
    index = json.loads(files[INDEX])
    assert {name: entry["sha256"] for name, entry in index["files"].items()} == {
        name: sha256(data) for name, data in files.items() if name != INDEX
    }
    own = hashlib.sha256((judged_examples / "manifest.json").read_bytes()).hexdigest()
    assert index["runs"][0]["manifest_sha256"] == own
    sample = json.loads(files[f"{folder}/sample.json"])
    assert len(sample["order"]) == 8
    assert sample["seed"] == 1
    checklist = files[f"{folder}/checklists/mi-clear-llm.csv"].decode()
    assert f"blank,{BLANK}" in checklist


def test_no_report_leaves_unless_it_is_asked_for(
    evidence: Path, judged_examples: Path, tmp_path: Path
) -> None:
    sentences = reports()
    assert len(sentences) > 30
    files = files_of(evidence / "evidence.zip")
    shown = pdf_text(files.pop("evidence.pdf"))
    texts = [data.decode() for data in files.values()] + [shown]
    for sentence in sentences:
        assert not any(sentence in text for text in texts), sentence
    assert "It holds no report" in shown
    pack(judged_examples, "--pack", tmp_path / "internal", "--with-reports")
    whole = files_of(tmp_path / "internal" / "evidence.zip")
    name = f"runs/{judged_examples.name}/sample-reports.json"
    known = json.loads(whole[name])
    assert len(known) == 15
    refs = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    study = known[0]
    assert study["reference"] == refs[study["study_id"]]["section_findings"]
    shown = pdf_text(whole["evidence.pdf"])
    assert squeezed(study["reference"]) in squeezed(shown)
    assert "THIS PACK HOLDS REPORTS OF PATIENTS" in shown


def test_reports_are_no_markup(tmp_path: Path) -> None:
    hostile = (
        '#panic("x") $ a^b $ *bold* `code` = Heading <label> @cite \\u{41} // gone /* gone */ '
        '#import "x.typ" [ ] { } #read("/etc/passwd") "quoted" ~ -- end.'
    )
    path = answered(
        tmp_path / "run",
        {"#a *b* $": green({"a": "1. A #strong[nodule]"})},
        reference=f"No effusion.\n{hostile}",
        candidate="心臓は正常 Heart.",
        prompt="own@1+00000000",
    )
    pack(path, "--pack", tmp_path / "out", "--with-reports")
    text = pdf_text((tmp_path / "out" / "evidence.pdf").read_bytes())
    assert squeezed(hostile) in squeezed(text)
    assert "#a *b* $" in text
    assert "A #strong[nodule]" in text
    assert (
        "The fonts of this PDF lack some letters, which are boxes here: CJK, " in text
    )
    assert "the text with this digest is not installed here" in text
    assert "The fonts" not in text.partition("Protocol")[2]


def test_the_same_runs_give_the_same_bytes(
    evidence: Path,
    judged_examples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pack(judged_examples, "--pack", tmp_path / "again", "--sample", 8)
    first = (evidence / "evidence.zip").read_bytes()
    assert (tmp_path / "again" / "evidence.zip").read_bytes() == first
    finished = Run.open(judged_examples).manifest.finished
    assert finished is not None
    dated = PdfReader(evidence / "evidence.pdf").metadata
    assert dated is not None
    assert dated.creation_date is not None
    assert dated.creation_date.isoformat()[:19] == finished[:19]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    pack(judged_examples, "--pack", tmp_path / "dated", "--sample", 8)
    dated = PdfReader(tmp_path / "dated" / "evidence.pdf").metadata
    assert dated is not None
    assert dated.creation_date is not None
    assert dated.creation_date.isoformat()[:19] == "2001-09-09T01:46:40"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    done = CliRunner().invoke(
        main, ["cite", str(judged_examples), "--pack", str(tmp_path / "no")]
    )
    assert done.exit_code == 2
    assert "SOURCE_DATE_EPOCH is 'soon'" in done.stderr
    assert not (tmp_path / "no").exists()


def verify(path: Path) -> tuple[int, dict[tuple[str, str], bool]]:
    done = CliRunner().invoke(main, ["runs", "verify", str(path), "--format", "json"])
    checks = json.loads(done.stdout)
    return done.exit_code, {
        (entry["of"], entry["check"]): entry["holds"] for entry in checks
    }


def changed(evidence: Path, out: Path, change: Change, *, listed: bool) -> Path:
    """Write the pack with a change; `listed` writes sizes and hashes anew, as a forger would."""
    files = files_of(evidence / "evidence.zip")
    change(files)
    if listed:
        index = json.loads(files[INDEX])
        index["files"] = {
            name: {"bytes": len(data), "sha256": sha256(data)}
            for name, data in files.items()
            if name != INDEX
        }
        files[INDEX] = json.dumps(index).encode()
    out.write_bytes(zipped(files))
    return out


def replaced(end: str, old: bytes, new: bytes) -> Change:
    def change(files: dict[str, bytes]) -> None:
        (name,) = [name for name in files if name.endswith(end)]
        assert old in files[name]
        files[name] = files[name].replace(old, new, 1)

    return change


def without(end: str) -> Change:
    def change(files: dict[str, bytes]) -> None:
        (name,) = [name for name in files if name.endswith(end)]
        del files[name]

    return change


def with_another(files: dict[str, bytes]) -> None:
    files["more.txt"] = b"more"


def test_a_pack_as_it_was_written_holds(evidence: Path, judged_examples: Path) -> None:
    code, checks = verify(evidence / "evidence.zip")
    assert code == 0
    run = judged_examples.name
    assert checks == {
        ("evidence.zip", "files"): True,
        ("evidence.zip", "hashes"): True,
        (run, "signature"): True,
        (run, "figures"): True,
        (run, "tables"): True,
    }


ONE_ROW = (
    b"ex-002,normal,False,scored,,,1,0,",
    b"ex-002,normal,False,scored,,,0.5,1,",
)


@pytest.mark.parametrize(
    ("change", "listed", "fails"),
    [
        (replaced("sample.csv", b"ex-", b"xx-"), False, "hashes"),
        (replaced("evidence.pdf", b"%PDF", b"%PDG"), False, "hashes"),
        (without("README.txt"), False, "files"),
        (with_another, False, "files"),
        (without("studies.csv"), True, "figures"),
        (replaced("studies.csv", *ONE_ROW), True, "figures"),
        (replaced("rates.csv", b"0.6888888888888888", b"0.7"), True, "tables"),
        (without("errors.csv"), True, "tables"),
        (replaced("summary.json", b"0.5414563605132976", b"0.6"), True, "figures"),
        (
            replaced("manifest.json", b'"section": "findings"', b'"section": "report"'),
            True,
            "signature",
        ),
        (
            replaced(
                "manifest.json", b'"rubric_version": "4"', b'"rubric_version": "3"'
            ),
            True,
            "figures",
        ),
        (replaced("manifest.json", b"{", b"["), True, "figures"),
    ],
)
def test_what_was_changed_is_found(
    evidence: Path, tmp_path: Path, change: Change, *, listed: bool, fails: str
) -> None:
    path = changed(evidence, tmp_path / "changed.zip", change, listed=listed)
    code, checks = verify(path)
    assert code == 1
    failed = {check for (_, check), holds in checks.items() if not holds}
    assert fails in failed
    if listed:
        assert failed.isdisjoint({"files", "hashes"})


def test_runs_of_the_same_studies_are_compared(
    invoke: Invoke, judged_examples: Path
) -> None:
    files = (EXAMPLES / "preds_alder.json", EXAMPLES / "refs.json")
    assert invoke("green", *files, "--out", "alder").exit_code == 0
    pack(judged_examples, "alder", "--pack", "both", "--by", "site")
    text = pdf_text(Path("both/evidence.pdf").read_bytes())
    assert "Leaderboard by GREEN: all studies (15)" in text
    assert "+0.233 [+0.111, +0.356]" in text
    assert "preds, alder: under Comparison" in text or "alder, preds" in text
    inside = files_of(Path("both/evidence.zip"))
    leaderboard = inside["comparison/leaderboard.csv"].decode()
    assert "alder" in leaderboard
    assert "harbour" in leaderboard
    assert "figures/comparison/ranks_green.svg" in inside
    code, checks = verify(Path("both/evidence.zip"))
    assert code == 0
    assert ("alder", "tables") in checks


def test_other_runs_stand_each_by_itself(invoke: Invoke, judged_examples: Path) -> None:
    write_json(Path("refs.json"), {"z": {"section_findings": "Small left effusion."}})
    write_json(Path("preds.json"), {"z": "No effusion."})
    done = invoke(
        "green", "preds.json", "refs.json", "--section", "findings", "--out", "z"
    )
    assert done.exit_code == 0, done.stderr
    done = invoke("cite", judged_examples, "z", "--pack", "two")
    assert done.exit_code == 0, done.stderr
    assert "the runs are not compared with each other" in done.stderr
    inside = files_of(Path("two/evidence.zip"))
    assert not [name for name in inside if name.startswith("comparison/")]
    assert "figures/z/rates_green.svg" in inside
    text = pdf_text(inside["evidence.pdf"])
    assert (
        "The runs are not compared with each other: these runs cannot be compared"
        in text
    )
    assert verify(Path("two/evidence.zip"))[0] == 0


def test_nothing_half_written_is_left(
    judged_examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_files: Mapping[str, bytes]) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(contents, "zipped", interrupted)
    done = CliRunner().invoke(
        main, ["cite", str(judged_examples), "--pack", str(tmp_path / "evidence")]
    )
    assert done.exit_code != 0
    assert list(tmp_path.iterdir()) == []


def test_only_its_owner_can_read_a_pack(evidence: Path) -> None:
    assert evidence.stat().st_mode & 0o777 == 0o700
    for path in evidence.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
