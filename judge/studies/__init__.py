"""Reading studies: candidates and references from files or lists, joined by study id."""

from judge.studies.columns import NamedFields
from judge.studies.join import from_python, read_pair
from judge.studies.study_set import StudySet

__all__ = ["NamedFields", "StudySet", "from_python", "read_pair"]
