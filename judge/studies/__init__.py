"""Reading studies: candidates and references from files or lists, joined by study id."""

from judge.studies.columns import FIELD_NAMES, NamedFields
from judge.studies.join import from_python, read_pair
from judge.studies.sections import SECTIONS, Section
from judge.studies.study_set import InputFile, StudySet

__all__ = [
    "FIELD_NAMES",
    "SECTIONS",
    "InputFile",
    "NamedFields",
    "Section",
    "StudySet",
    "from_python",
    "read_pair",
]
