"""A page: its scripts and style sheets as files for a server, or one file with the data in it."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
from base64 import b64encode
from collections import ChainMap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./[a-z]+\.js\";\n", re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class) )", re.M)
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


@dataclass(frozen=True)
class Frontend:
    """Style sheets in the order to read them, and ES modules, each importing from those before.

    A file is taken from the first of `folders` that has it; the last module starts the page.
    """

    folders: tuple[Path, ...]
    styles: tuple[str, ...]
    scripts: tuple[str, ...]

    @property
    def main(self) -> str:
        """The module that starts the page."""
        return self.scripts[-1]

    @cached_property
    def files(self) -> dict[str, bytes]:
        """What each file holds, by its name."""
        of = ChainMap(*({path.name: path for path in one.iterdir()} for one in self.folders))
        return {name: of[name].read_bytes() for name in (*self.styles, *self.scripts)}

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits over all files, so that a browser may keep them for good."""
        digest = hashlib.sha256()
        for name, content in self.files.items():
            digest.update(name.encode() + b"\0" + content + b"\0")
        return digest.hexdigest()[:16]

    @cached_property
    def script(self) -> str:
        """All modules as one."""
        return joined(self.files[name].decode("utf-8") for name in self.scripts)

    @cached_property
    def style(self) -> str:
        """All style sheets as one."""
        return "\n".join(self.files[name].decode("utf-8") for name in self.styles)

    def file(
        self, mark: str, view: str, title: str, data: Iterable[tuple[str, bytes]]
    ) -> Iterator[str]:
        """Yield the page of a view as one file, piece by piece, with each of `data` by its name.

        It may run its script, use its style and show images that it holds itself. The script
        comes last, after all data.
        """
        policy = (
            f"default-src 'none'; script-src {source_hash(self.script)}; "
            f"style-src {source_hash(self.style)}; "
            "img-src blob:; base-uri 'none'; form-action 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
        )
        yield (
            f'{mark}\n<html lang="en" data-mode="file" data-view="{view}">\n<head>\n'
            '<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n'
            f"<title>{html.escape(title)}</title>\n<style>{self.style}</style>\n</head>\n<body>\n"
            "<noscript>This page shows its data with JavaScript, which is off.</noscript>\n"
        )
        for name, content in data:
            yield element(name, content)
        yield f'<script type="module">{self.script}</script>\n</body>\n</html>\n'


def content_type(name: str) -> str:
    """Return the media type of a style sheet or a script."""
    return _TYPES[Path(name).suffix]


def as_json(value: object) -> bytes:
    """Return a value as JSON; a number that is no number raises ValueError.

    Half a surrogate pair, which no file can hold, becomes `?`.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def element(name: str, data: bytes) -> str:
    """Return the element that holds `data` under `name`; the same data always give the same."""
    text = b64encode(gzip.compress(data, 6, mtime=0)).decode()
    return f'<script type="text/plain" id="data-{name}">{text}</script>\n'


def joined(scripts: Iterable[str]) -> str:
    """Return ES modules as one.

    They share no name at their top level, and each imports from those before it, so that
    taking the words `import` and `export` away joins them. Raises ValueError for a script
    in another form.
    """
    text = "\n".join(_EXPORT.sub("", _IMPORT.sub("", script)) for script in scripts)
    if re.search(r"^(?:import|export)\b", text, re.M) or re.search(r"</script|<!--", text, re.I):
        raise ValueError("a script of the page is not in the form that can be joined")
    return text


def source_hash(text: str) -> str:
    """Return `text`'s hash as a Content-Security-Policy names it."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
