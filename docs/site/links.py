"""Links between the site's pages and the files of the repository that lie beside docs/."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples/README.md": "examples.md",
    "examples/tutorial.ipynb": "tutorial.md",
}
"""Pages that lie outside docs/ -> where they are in the site."""

_COPIES = "files/"
_FENCE = re.compile(r"^(```.*?^```\s*?$)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s#:][^)\s#:]*)((?:#[^)\s]*)?\))")


def source_of(name: str) -> str:
    """Return where a page of the site lies in the repository."""
    return {page: source for source, page in PAGES.items()}.get(name, f"docs/{name}")


def in_site(source: str) -> str:
    """Return where a file of the repository is in the site."""
    if source in PAGES:
        return PAGES[source]
    return (
        source.removeprefix("docs/") if source.startswith("docs/") else _COPIES + source
    )


def is_copied(source: str) -> bool:
    """Whether a file of the repository is in the site only because a page links to it."""
    return in_site(source).startswith(_COPIES)


def targets(markdown: str, source: str) -> Iterator[str]:
    """Yield each file of the repository that the page at `source` links to."""
    for text in _FENCE.split(markdown)[::2]:
        for link in _LINK.finditer(text):
            yield _from(source, link[2])


def rewritten(markdown: str, name: str) -> str:
    """Return the page called `name` with its links as they lead through the site."""
    source = source_of(name)

    def there(link: re.Match[str]) -> str:
        found = in_site(_from(source, link[2]))
        return f"{link[1]}{posixpath.relpath(found, posixpath.dirname(name) or '.')}{link[3]}"

    parts = _FENCE.split(markdown)
    parts[::2] = [_LINK.sub(there, text) for text in parts[::2]]
    return "".join(parts)


def _from(source: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
