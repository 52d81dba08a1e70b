"""What readers said of studies, wherever it comes from: a file, or the pages of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judge.running.records import SampleRead
from judge.studies.sections import Section
from judge.types import Annotated, Study


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader said of one study; `study.fields` has the reader's own values too."""

    study: Study
    outcome: Annotated


@dataclass(frozen=True, slots=True)
class Readings:
    """All that readers said, by reader, in the order of the studies.

    A reader has no reading of a study that was not read. `lacks` and `own` are as in
    `judge.rubrics.reading.as_read`. `source` is the file with the candidates, by whose name
    their model is called where nothing else says it; None where no file has them.
    `class_source` says where the studies' classes come from, None where those that are missing
    are to be inferred. `sample` is the sample in which the studies were drawn. `left_out` are
    the studies that could not be read, by reader, each with the reason.
    """

    rubric: str
    by_reader: Mapping[str, Sequence[Reading]]
    lacks: Mapping[str, str] = field(default_factory=dict)
    own: Sequence[str] = ()
    section: Section = "report"
    source: str | None = None
    notes: tuple[str, ...] = ()
    class_source: str | None = None
    sample: SampleRead | None = None
    left_out: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
