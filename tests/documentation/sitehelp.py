"""The site's strict build, and a built page as its parts."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

_NO_NETWORK = """
import socket

def refused(self, address, *rest):
    raise ConnectionRefusedError(f"the site asked for {address}")

socket.socket.connect = socket.socket.connect_ex = refused
"""


def build(tree: Path, out: Path, work: Path) -> subprocess.CompletedProcess[str]:
    """Run the strict build of the site of `tree`; `work` is for what keeps it off the network."""
    work.mkdir(exist_ok=True)
    (work / "sitecustomize.py").write_text(_NO_NETWORK, "utf-8")
    # Without the tests' own rubrics, which the reference must not have.
    env = {**os.environ, "PYTHONPATH": str(work), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", out],
        cwd=tree,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


_WITHIN_A_WORD = {"a", "b", "code", "em", "i", "span", "strong"}
_NO_END = {"br", "hr", "img", "input", "link", "meta", "source", "wbr", "col"}


@dataclass
class Parts(HTMLParser):
    """The anchors of a page, the addresses in it, and the words of its article."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    said: str = ""
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preconnect", "preload"):
            self.loaded.append(given["href"])
        self._between(tag)
        if tag not in _NO_END:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._between(tag)
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if "article" in self._open and not {"script", "style"} & {*self._open}:
            self.said += data.replace("¶", " ")

    def _between(self, tag: str) -> None:
        if tag not in _WITHIN_A_WORD:
            self.said += " "

    @property
    def words(self) -> list[str]:
        """The article's words."""
        return self.said.split()

    @property
    def text(self) -> str:
        """The article's words, with one blank between them."""
        return " ".join(self.words)


@cache
def parts(page: Path) -> Parts:
    """Read a page of the site."""
    found = Parts()
    found.feed(page.read_text("utf-8"))
    return found
