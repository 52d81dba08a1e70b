"""Reading studies: candidates and references from files or lists, joined by study id."""

from judge.studies.names import FIELD_NAMES, SECTIONS, NamedFields, Section
from judge.studies.pair import from_given, read_pair
from judge.studies.study_set import InputFile, StudySet

__all__ = [
    "FIELD_NAMES",
    "SECTIONS",
    "InputFile",
    "NamedFields",
    "Section",
    "StudySet",
    "from_given",
    "read_pair",
]
