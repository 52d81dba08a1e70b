"""The table of sections: a row that can be judged stands where headings part a report."""

from judge.report_sections import (
    JUDGED_SECTIONS,
    SECTION_NAMES,
    SECTIONS,
    HeadingPlace,
)
from judge.sentences import opens_skipped_section
from judge.studies.columns import FIELD_NAMES, REPORT_ROLES
from judge.studies.headings import split_report


def test_sections_that_can_be_judged_are_roles_of_columns() -> None:
    for section in JUDGED_SECTIONS:
        assert section.place is HeadingPlace.MAIN
        assert FIELD_NAMES[section.name] == section.columns
        assert section.name in REPORT_ROLES


def test_parts_of_a_heading_are_sections() -> None:
    for section in SECTIONS:
        assert set(section.parts) <= set(SECTION_NAMES)


def test_one_vocabulary_serves_both_readers() -> None:
    report = "Technique: AP view.\nFindings: Clear lungs.\nImpression: Normal."
    assert split_report(report).section("findings") == "Clear lungs."
    assert opens_skipped_section("Technique: AP view.") is True
    assert opens_skipped_section("Findings: Clear lungs.") is False
    assert opens_skipped_section("Clear lungs.") is None
