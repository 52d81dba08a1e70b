"""What mkdocs asks while it builds the site: the order of pages, and files beside docs/.

`mkdocs.yml` names this file. A link to a file outside docs/ leads to a page or to a copy of it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import links
import notebook
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_SEARCH = 'data-md-component="search" role="dialog"'
# It names everything, and would come first for every word.
_NOT_SEARCHED = ("changelog.md",)
# Their tables take the room of the list of headings.
_WIDE = ("compared.md",)
ROOT = Path(__file__).parents[2]


@cache
def generated() -> dict[str, str]:
    """Return each page that is no file of docs/: where it lies in the site, and its Markdown."""
    return {"tutorial.md": notebook.as_markdown(ROOT / "examples" / "tutorial.ipynb")}


def on_config(config: MkDocsConfig) -> None:
    """Put into the navigation, where it names a folder (`reference/commands/`), its pages."""
    config.nav = _filled(config.nav)


def _filled(entry: Any) -> Any:  # noqa: ANN401 - lists, dictionaries and texts in one another
    if isinstance(entry, list):
        return [_filled(one) for one in entry]
    if isinstance(entry, dict):
        return {title: _filled(of) for title, of in entry.items()}
    if not entry.endswith("/"):
        return entry
    folder = ROOT / "docs" / entry
    names = sorted(path.name for path in folder.glob("*.md"))
    if "index.md" in names:
        index = (folder / "index.md").read_text("utf-8")
        # As the index has them, itself first.
        names.sort(key=lambda name: index.find(f"]({name})"))
    return [f"{entry}{name}" for name in names]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the generated pages, those from beside docs/, and copies of what pages link to."""
    for name, text in generated().items():
        files.append(File.generated(config, name, content=text))
    for source, name in links.PAGES.items():
        if name in generated():
            continue
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    outside = {
        target
        for file in files.documentation_pages()
        for target in links.targets(file.content_string, links.source_of(file.src_uri))
        if links.is_copied(target)
    }
    for target in sorted(outside):
        if (ROOT / target).is_file():
            path = str(ROOT / target)
            files.append(
                File.generated(config, links.in_site(target), abs_src_path=path)
            )


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Have the links that lead out of docs/ lead to what stands for it in the site."""
    if page.file.src_uri in _NOT_SEARCHED:
        page.meta["search"] = {"exclude": True}
    if page.file.src_uri in _WIDE:
        page.meta["hide"] = ["toc"]
    return links.rewritten(markdown, page.file.src_uri)


def on_post_page(output: str, **_: object) -> str:
    """Name the theme's search for those who do not see it."""
    return output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')
