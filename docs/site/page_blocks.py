"""The parts of a page that say what the program does: blocks of code, marks, code within the text.

A mark is an HTML comment on a line of its own before a block:

    <!-- not run: REASON -->   the block is not run, only read: its commands, options and imports
    <!-- file: NAME -->        the block is a file of this name, in the folder that the page runs in
    <!-- setup: python -->     the comment goes on with Python that runs and is not shown
    <!-- exit N -->            the last command of the block ends with this exit code
    <!-- output -->            the block is what the last command before it prints
    <!-- output of "judge validate", from "Agreement", 12 lines -->  a part of what a command prints
    <!-- output in part -->    the block is JSON, all of which is in what the command prints

After a paragraph, `<!-- printed: 0.689 [0.541, 0.806]; 4/15 -->` says that these texts stand in the
paragraph and were printed by a command before it. `<!-- runs nothing: REASON -->` excuses a page,
`<!-- adds: NAME, NAME -->` names commands and files that the page itself makes, and
`<!-- old names: REASON -->` allows it to name what is called otherwise now.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    re.DOTALL | re.MULTILINE,
)
_QUOTE = re.compile(r"^<!-- output[^>]*-->\n\n?((?:>[^\n]*\n)+)", re.MULTILINE)
_COMMENT = re.compile(r"^ *<!-- (.*?) ?-->[ ]*$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_NAMED = re.compile(r"# (\S+\.\w+)\n")
_INDENTED = re.compile(r"(?:\A|\n)\n((?:    [^\n]*\n)+)")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block, or a quotation that is a command's output."""

    language: str
    text: str
    line: int
    start: int
    end: int
    marks: tuple[str, ...]
    is_quotation: bool = False

    def mark(self, name: str) -> str | None:
        """Return what a mark says after its name, None where the block has no such mark."""
        for mark in self.marks:
            if mark == name:
                return ""
            if mark.startswith((f"{name} ", f"{name}:", f"{name},")):
                return mark[len(name) :].lstrip(" :,")
        return None

    @property
    def file(self) -> str | None:
        """The file that the block is, if it is one."""
        named = _NAMED.match(self.text)
        if named and self.language in ("yaml", "toml", "python"):
            return named[1]
        return self.mark("file")


@dataclass(frozen=True, kw_only=True)
class Comment:
    """A comment that belongs to no block, such as a setup or figures that were printed."""

    text: str
    line: int
    start: int


@dataclass(frozen=True, kw_only=True)
class Code:
    """Code within the text, between backticks."""

    text: str
    line: int


class Page:
    """A page of Markdown."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        self.text = path.read_text("utf-8") if text is None else text
        self.blocks = self._find_blocks()
        self.comments = self._find_comments()

    def line_at(self, position: int) -> int:
        """Return the number of the line with this character."""
        return self.text.count("\n", 0, position) + 1

    def _find_blocks(self) -> list[Block]:
        blocks = []
        for found in _FENCE.finditer(self.text):
            indent = len(found["indent"])
            lines = [line[indent:] for line in found["body"].splitlines()]
            blocks.append(
                Block(
                    language=found["language"],
                    text="".join(f"{line}\n" for line in lines),
                    line=self.line_at(found.start()),
                    start=found.start("body"),
                    end=found.end("body"),
                    marks=self._marks_before(found.start()),
                )
            )
        for found in _QUOTE.finditer(self.text):
            lines = [
                line.removeprefix(">").removeprefix(" ")
                for line in found[1].splitlines()
            ]
            blocks.append(
                Block(
                    language="",
                    text="".join(f"{line}\n" for line in lines),
                    line=self.line_at(found.start(1)),
                    start=found.start(1),
                    end=found.end(1),
                    marks=self._marks_before(found.start(1)),
                    is_quotation=True,
                )
            )
        return sorted(blocks, key=lambda block: block.start)

    def _marks_before(self, position: int) -> tuple[str, ...]:
        """Return the comments directly before a block, in their order."""
        marks: list[str] = []
        before = self.text[:position].rstrip()
        while before.endswith("-->"):
            start = before.rfind("<!-- ")
            marks.insert(0, before[start + 5 : -3].strip())
            before = before[:start].rstrip()
        return tuple(marks)

    def _find_comments(self) -> list[Comment]:
        comments = []
        for found in _COMMENT.finditer(self.text):
            if not self._in_block(found.start()):
                comments.append(
                    Comment(
                        text=found[1].strip(),
                        line=self.line_at(found.start()),
                        start=found.start(),
                    )
                )
        return comments

    def _in_block(self, position: int) -> bool:
        return any(block.start <= position < block.end for block in self.blocks)

    def prose(self) -> str:
        """Return the page with blanks in place of its blocks and comments; no line moves."""

        def blank(found: re.Match[str]) -> str:
            return re.sub(r"[^\n]", " ", found[0])

        text = _FENCE.sub(blank, self.text)
        return re.sub(r"<!--.*?-->", blank, text, flags=re.DOTALL)

    def inline(self) -> list[Code]:
        """Return the code within the text."""
        prose = self.prose()
        return [
            Code(text=" ".join(found[2].split()), line=self.line_at(found.start()))
            for found in _INLINE.finditer(prose)
        ]

    def indented(self) -> list[Code]:
        """Return the blocks that are indented instead of fenced."""
        return [
            Code(text=found[1], line=self.line_at(found.start(1)))
            for found in _INDENTED.finditer(self.prose())
        ]

    def with_block(self, block: Block, text: str) -> str:
        """Return the text of the page with another body of a block."""
        if block.is_quotation:
            lines = [f"> {line}".rstrip() for line in text.splitlines()]
        else:
            line_start = self.text.rfind("\n", 0, block.start - 1) + 1
            indent = re.match(" *", self.text[line_start:])
            assert indent is not None
            lines = [f"{indent[0]}{line}".rstrip() for line in text.splitlines()]
        body = "".join(f"{line}\n" for line in lines)
        return self.text[: block.start] + body + self.text[block.end :]


def logical_lines(script: str) -> list[str]:
    """Return the commands of a shell block: lines with what continues them."""
    commands: list[str] = []
    pending = ""
    for line in script.splitlines():
        pending = f"{pending}\n{line}" if pending else line
        if pending.endswith("\\"):
            continue
        if _is_open(pending):
            continue
        command = re.sub(r"\\\n\s*", "", pending).strip()
        if command and not command.startswith("#"):
            commands.append(command)
        pending = ""
    if pending.strip():
        commands.append(pending.strip())
    return commands


def without_comment(command: str) -> str:
    """Return a command without the comment at its end."""
    position = _scan(command)[1]
    return command[:position].rstrip()


def _is_open(text: str) -> bool:
    """Whether a quotation or a here-document goes on in the next line."""
    here = re.search(r"<<-?\s*'?(\w+)'?", text)
    if here:
        return not re.search(rf"^{here[1]}$", text, re.MULTILINE)
    return _scan(text)[0]


def _scan(text: str) -> tuple[bool, int]:
    """Return whether a quotation is open at the end, and where a comment begins, if one does."""
    quote = ""
    is_escaped = False
    for position, sign in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif sign == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            if sign == quote:
                quote = ""
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and (position == 0 or text[position - 1].isspace()):
            return False, position
    return bool(quote), len(text)
