"""What a run must say of its judge: what others found, and what the judge's passport covers.

A passport is looked for in `judge-runs/passports`, in the folder where the run is started. Where
there is none nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from judge.run_files.identity import JudgedBy
from judge.studies import StudySet
from judge.types import JudgeError

PASSPORTS = Path("judge-runs", "passports")
"""Where passports are kept, and looked for."""


def coverage_notes(
    judged_by: JudgedBy, studies: StudySet, folder: Path = PASSPORTS
) -> list[str]:
    """Return what a run says of its judge for these studies, a sentence each.

    That is a low published agreement on their modality, and what the passports in `folder` of this
    judge with this prompt and rubric say: their verdict on the modality, or that they do not cover
    the modality or a language of the references. A file that is no passport is named.
    """
    notes: list[str] = []
    # Models alone have a prompt, and published figures.
    if judged_by.prompts:
        from judge.backends.published import published_notes

        modality = studies.judge_context.modality
        notes += published_notes(judged_by.judge.name, judged_by.rubric, modality)
    if folder.is_dir():
        notes += _passport_notes(judged_by, studies, folder)
    return notes


def _passport_notes(
    judged_by: JudgedBy, studies: StudySet, folder: Path
) -> Iterator[str]:
    from judge.backends.published import modality_name
    from judge.run_files.passport import SUFFIX, read_passport

    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            passport = read_passport(path)
        except JudgeError as error:
            yield f"a passport cannot be read: {error}"
            continue
        if not passport.is_of(judged_by):
            continue
        modality = studies.judge_context.modality or ""
        named = f"the passport {path}"
        entries = {entry.modality: entry for entry in passport.measured}
        entry = entries.get(modality)
        if entry is None:
            covered = _names([modality_name(code) for code in entries])
            yield (
                f"{named} does not cover this run's modality, {modality_name(modality)}: it covers "
                f"{covered}"
            )
            continue
        judge = judged_by.judge.name
        verdict = f"{judge} is {entry.verdict}"
        if entry.verdict == "unknown":
            verdict = f"it is unknown whether to trust {judge}"
        said = f"{named}: {verdict} on {modality_name(modality)}"
        against = [criterion.label for criterion in entry.against]
        if against:
            said += f" ({', '.join(against)})"
        yield said
        yield from _language_notes(named, list(entry.languages), studies.references)


def _language_notes(
    named: str, covered: Sequence[str], references: Sequence[str]
) -> Iterator[str]:
    from judge.studies.language import UNKNOWN, language_name, languages_of

    known = [code for code in covered if code != UNKNOWN]
    for code, n in languages_of(references).items():
        if code not in (UNKNOWN, *known):
            yield (
                f"{named} does not cover {n:,} of {len(references):,} references, which seem to be "
                f"in {language_name(code)}: it covers {_names(map(language_name, known))}"
            )


def _names(names: Iterator[str] | Sequence[str]) -> str:
    return ", ".join(names) or "none"
