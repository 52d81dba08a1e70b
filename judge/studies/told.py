"""What a judge is told of a study beside its two reports, and the fields that say it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from judge import jsonio
from judge.studies.fields import as_text
from judge.studies.names import listed, named, plain
from judge.types import MODALITIES, JudgeError

if TYPE_CHECKING:
    from judge.studies.study_set import StudySet

CONTEXT_FIELDS = (
    *("context", "age", "patient_age", "sex", "patient_sex", "gender"),
    *("indication", "indications", "history", "clinical_history", "clinical_indication"),
    *("clinical_information", "clinical_data", "reason_for_exam", "reason_for_examination"),
    *("procedure", "exam", "examination", "technique", "comparison", "comparisons"),
)
"""The fields that tell of the patient and the examination, where they have these names."""

_DICOM = {"cr": "xr", "dx": "xr", "mri": "mr"}
# ReXrank's context is one text, "Age:50-60.Gender:M.Indication: ... Comparison: ...".
_TAG = re.compile(r"\s*<context>(.*)</context>\s*", re.IGNORECASE | re.DOTALL)
_PART = re.compile(
    r"(?:(?<=\A)|(?<=[.\s;,]))(age|gender|sex|(?:clinical )?(?:indication|history)|comparison"
    r"|technique|procedure|exam(?:ination)?)\s*:",
    re.IGNORECASE,
)
_SAYS_NOTHING = {"", "nan", "inf", "-inf", "none", "null", "n/a", "na", "unknown", "-"}
_COMPARES = re.compile(
    r"\b(?:unchanged|compar(?:ed|ison)|prior|previous(?:ly)?|interval|new(?:ly)?|stable|again"
    r"|since|worsen(?:ed|ing)|improv(?:ed|ing|ement)|(?:in|de)creased)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What a judge is told of each study of a set, by the names of the set's fields.

    `context` are the fields that tell of the patient, `prior` the one with an earlier report.
    The modality is that of `modality` for all studies (a key of `MODALITIES`), or that of the
    field `modality_field` for each.
    """

    context: tuple[str, ...] = ()
    prior: str | None = None
    modality: str | None = None
    modality_field: str | None = None

    def of(self, fields: Mapping[str, object]) -> dict[str, Any]:
        """Return the study's `context`, `prior` and `modality`, from its fields.

        Raises `JudgeError` for a context or a modality that is none, and two values of a name.
        """
        said = [(name, read_context(name, fields[name])) for name in self.context]
        own = fields[self.modality_field] if self.modality_field else None
        return {
            "context": _joined([(name, *one) for name, of in said for one in of.items()]),
            "prior": earlier(fields[self.prior]) if self.prior else None,
            "modality": modality_of(as_text(own)) if own is not None else self.modality,
        }

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that it is told by."""
        return (*self.context, *filter(None, (self.prior, self.modality_field)))

    @property
    def signature(self) -> list[str]:
        """The parts of a signature that name all this; none where nothing is told."""
        parts = {"context": self.context, "prior": (self.prior,)}
        parts["modality"] = (self.modality_field or self.modality,)
        names = {part: [_signed(one) for one in of if one] for part, of in parts.items()}
        return [f"{part}:{','.join(of)}" for part, of in names.items() if of]


NOTHING = Told()


def earlier(value: object) -> str | None:
    """Return an earlier report as text; None where the value says nothing."""
    text = "" if value is None else as_text(value)
    return None if text.strip().lower() in _SAYS_NOTHING else text


def _signed(name: str) -> str:
    if name != "none" and not any(mark in name for mark in ',|"'):
        return name
    return json.dumps(name, ensure_ascii=False).replace("|", "\\u007c")  # a signature's own mark


def _joined(said: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    found: dict[str, tuple[str, str]] = {}
    for field, key, value in said:
        first, known = found.setdefault(key, (field, value))
        if known != value:
            by = f"field {field} gives" if field == first else f"fields {first} and {field} give"
            raise JudgeError(
                f"the {by} two values of {key}: {known!r} and {value!r}; mend them, or choose what "
                "the judge is told (--context-field, --no-context)"
            )
    return {key: value for key, (_, value) in found.items()}


def with_told(
    studies: StudySet,
    *,
    context: Sequence[str] | None,
    prior: str | None = None,
    modality: str | None = None,
) -> StudySet:
    """Return studies whose judge is told what some of their fields say.

    `context` names fields, an empty one tells nothing, None all that are known by their name
    (`CONTEXT_FIELDS`) and not of the candidates' file alone: who wrote the candidates does not
    choose what their judge is told. `modality` is a code of `MODALITIES` or a field. Raises
    `JudgeError` for a field that is not there, a value that is no context or no modality, two
    values of one name, and an earlier report that no study has.
    """
    if context is None:
        known = {plain(name): at for at, name in enumerate(CONTEXT_FIELDS)}
        own = [one for one in studies.fields if one not in studies.of_candidates]
        chosen = sorted(
            (one for one in own if plain(one) in known),
            key=lambda one: known[plain(one)],
        )
    else:
        chosen = [_field(studies, name, "--context-field") for name in context]
    told = Told(
        tuple(dict.fromkeys(chosen)), _field(studies, prior, "--prior-field") if prior else None
    )
    if modality is not None:
        code = modality_code(modality)
        field = None if code else _field(studies, modality, "--modality", MODALITIES)
        told = replace(told, modality=code, modality_field=field)
    if told.prior and not any(map(earlier, studies.fields[told.prior])):
        raise JudgeError(f"the field {told.prior} of --prior-field is empty for every study")
    columns = {name: studies.fields[name] for name in told.fields}
    for row, study_id in enumerate(studies.study_ids) if columns else ():
        try:
            told.of({name: column[row] for name, column in columns.items()})
        except JudgeError as error:
            raise JudgeError(f"study {study_id}: {error}") from None
    return replace(studies, told=told)


def _field(studies: StudySet, name: str, option: str, codes: Iterable[str] = ()) -> str:
    found = named(studies.fields, name)
    if len(found) == 1:
        return found[0]
    wrong = f"several fields {name!r}" if found else f"no field {name!r}"
    either = f"; the modalities are: {', '.join(codes)}" if codes else ""
    raise JudgeError(
        f"{wrong}, for {option}{either}; the fields beside the reports are: "
        f"{listed(studies.fields, 30) or 'none'}"
    )


@lru_cache(maxsize=4096, typed=True)
def read_context(name: str, value: object) -> Mapping[str, str]:
    """Return what a field's value says of the patient, each thing by its name.

    An object gives its own names; ReXrank's text, `Age:50-60.Gender:M.Indication: ...`, those of
    its parts; any other value that of the field. Raises `JudgeError` for a list, and for an
    object that holds more than texts and numbers, and for two values of one name.
    """
    text = "" if value is None else as_text(value).strip()
    if inside := _TAG.fullmatch(text):
        text = inside[1].strip()
    if text.startswith(("{", "[")):
        return _from_json(name, text)
    parts = [*_PART.finditer(text)]
    if parts and not text[: parts[0].start()].strip():
        ends = [part.start() for part in parts[1:]] + [len(text)]
        said = [(part[1], text[part.end() : end]) for part, end in zip(parts, ends, strict=True)]
    else:
        said = [(name, text)]
    return _named(name, said)


def _from_json(name: str, text: str) -> Mapping[str, str]:
    try:
        data = jsonio.read(text, nan=True)
    except jsonio.JsonError as error:
        if error.reason in ("nested too deeply", "duplicate key"):
            raise JudgeError(f"the field {name} is no context: {error}") from error
        return _named(name, [(name, text)])  # words that begin with a bracket: "[Clinical] cough"
    values = data.values() if isinstance(data, dict) else ()
    if not isinstance(data, dict) or any(isinstance(one, dict | list) for one in values):
        raise JudgeError(
            f"the field {name} is no context: give text, or an object of names and values"
        )
    return _named(name, [(key, as_text(one)) for key, one in data.items() if one is not None])


def _named(field: str, said: Sequence[tuple[str, str]]) -> dict[str, str]:
    found: list[tuple[str, str, str]] = []
    for label, text in said:
        key = re.sub(r"\W+", "_", label.strip().lower()).removeprefix("patient_")
        words = " ".join(text.split()).strip(" ;,")
        words = words[:-1] if key in ("age", "gender", "sex") and words.endswith(".") else words
        if words.lower() not in _SAYS_NOTHING:
            found.append((field, "sex" if key == "gender" else key, words))
    return _joined(found)


def modality_of(text: str) -> str:
    """Return the code of a modality, also of DICOM's (DX, CR); raises `JudgeError` for others."""
    if (code := modality_code(text)) is None:
        raise JudgeError(f"unknown modality {text!r}; there are: {', '.join(MODALITIES)}")
    return code


def modality_code(text: str) -> str | None:
    """Return the code of a modality, also of DICOM's; None where a text is none."""
    code = text.strip().lower()
    code = _DICOM.get(code, code)
    return code if code in MODALITIES else None


def compares(report: str) -> bool:
    """Whether a report seems to compare with an earlier examination: by single words."""
    return _COMPARES.search(report) is not None
