"""The study class, where the input does not give one."""

from __future__ import annotations

from dataclasses import replace

from judge.studies import StudySet


def with_classes(studies: StudySet) -> tuple[StudySet, str]:
    """Return `studies` with every class filled in, and a word for where the classes come from.

    A class that the input lacks is read off the whole reference report by the lexicon and
    marked as inferred. An empty reference has no class to infer: it stays None.
    """
    inferred = [given is None for given in studies.study_classes]
    if not any(inferred) and studies.class_field:
        return studies, studies.class_field
    from judge.backends import lexicon  # loads pydantic, which not every run needs

    rules = lexicon.load()
    classes = [
        given
        if given is not None
        else lexicon.study_class(report, rules)
        if report.strip()
        else None
        for given, report in zip(studies.study_classes, studies.full_references, strict=True)
    ]
    sources = [studies.class_field] if studies.class_field else []
    if any(inferred):
        sources.append(f"inferred({rules.version})")
    return (
        replace(studies, study_classes=tuple(classes), class_inferred=tuple(inferred)),
        "+".join(sources),
    )
