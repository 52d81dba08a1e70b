"""Published works that a rubric or an interval rests on, with what a bibliography needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import yaml


@dataclass(frozen=True, slots=True)
class Source:
    """A published work, as an entry of a bibliography.

    `authors` are each "Family, Given", or a body's name in braces; `is_longer` says that there are
    more than those named. `fields` are further ones of BibTeX, such as `journal`, `booktitle`,
    `doi` and `eprint` (of arXiv). Raises ValueError for one without an author.
    """

    key: str
    kind: Literal["article", "book", "inproceedings", "misc"]
    title: str
    authors: tuple[str, ...]
    year: int
    fields: Mapping[str, str] = field(default_factory=dict)
    is_longer: bool = False

    def __post_init__(self) -> None:
        if not self.authors:
            raise ValueError(f"the source {self.key!r} has no author")

    @property
    def short(self) -> str:
        """Up to three authors and the year as they stand in a sentence: "Chen and Cherry 2014"."""
        names = [name.partition(",")[0].strip("{}") for name in self.authors]
        if self.is_longer or len(names) > 3:
            return f"{names[0]} et al. {self.year}"
        *others, last = names
        return f"{', '.join(others)}{' and ' if others else ''}{last} {self.year}"

    @property
    def bibtex(self) -> str:
        """The entry for BibTeX; its title keeps its capitals in every style."""
        authors = [*self.authors, *(["others"] if self.is_longer else [])]
        fields = {
            "title": f"{{{self.title}}}",
            "author": " and ".join(authors),
            "year": str(self.year),
            **self.fields,
        }
        if "eprint" in fields:
            fields["archiveprefix"] = "arXiv"
        lines = [
            f"  {name} = {{{value.replace('&', chr(92) + '&')}}}," for name, value in fields.items()
        ]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


@lru_cache(1)
def _works() -> dict[str, Source]:
    text = Path(__file__).with_name("sources.yaml").read_text("utf-8")
    works: dict[str, dict[str, Any]] = yaml.load(text, yaml.CSafeLoader)
    return {
        key: Source(
            key,
            work["kind"],
            work["title"],
            tuple(work["authors"]),
            work["year"],
            work.get("fields", {}),
            is_longer=work.get("longer", False),
        )
        for key, work in works.items()
    }


def source(key: str) -> Source:
    """Return the work of sources.yaml with this key; raises KeyError."""
    return _works()[key]
