"""The page of a judge's passport: its tables, in one file without scripts."""

from __future__ import annotations

import html
from collections.abc import Iterator

from judge.pages.bundle import facts_list, static_page
from judge.run_files.passport import Passport
from judge.tables.document import Document, Table
from judge.tables.passport import passport_document


def passport_page(passport: Passport) -> Iterator[str]:
    """Yield the page of a passport; it begins with the mark of pages."""
    document = passport_document(passport, complete=True)
    return static_page(document.title, _body(document))


def _body(document: Document) -> Iterator[str]:
    yield facts_list(document.head)
    for table in document.tables:
        yield from _table(table)
    for name, line in document.signatures:
        yield (
            f'<p class="small">{html.escape(name)} '
            f'<span class="mono">{html.escape(line)}</span></p>\n'
        )


def _table(table: Table) -> Iterator[str]:
    title = html.escape(table.title)
    kinds = [
        "words" if at < table.n_left else "numbers" for at in range(len(table.head))
    ]
    yield f"<h2>{title}</h2>\n"
    yield '<div class="printed"><div class="scroll" tabindex="0" role="region" '
    yield f'aria-label="{title}"><table>\n<thead><tr>'
    for name, kind in zip(table.head, kinds, strict=True):
        yield f'<th scope="col" class="{kind}">{html.escape(name)}</th>'
    yield "</tr></thead>\n<tbody>\n"
    for row in table.texts:
        cells = [f'<th scope="row"><bdi>{html.escape(row[0])}</bdi></th>']
        for text, kind in zip(row[1:], kinds[1:], strict=True):
            cells.append(f'<td class="{kind}"><bdi>{html.escape(text)}</bdi></td>')
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody>\n</table></div>\n"
    if table.note:
        yield f'<p class="small">{html.escape(table.note)}</p>\n'
    yield "</div>\n"
