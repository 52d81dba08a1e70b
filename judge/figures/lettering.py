"""The width of texts, so that a figure looks the same whatever fonts a machine has.

Vega measures each text in Liberation Sans, whose letters are as wide as those of Helvetica. Where
a browser has neither, its own font is wider, and a text would leave its place. So each text of an
SVG states its width, and lines are broken where they fit.
"""

from __future__ import annotations

import re
from html import unescape
from unicodedata import combining, east_asian_width, normalize

_WIDTHS = {
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft",
    333: "()-`r",
    334: "{}",
    355: '"',
    389: "*",
    469: "^",
    191: "'",
    500: "Jckvsxyz",
    556: "#$0123456789?L_abdeghnopqu",
    584: "+<=>~\N{MINUS SIGN}\N{PLUS-MINUS SIGN}",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "\N{HORIZONTAL ELLIPSIS}",
    1015: "@",
}
"""Letters by their width in Helvetica, in thousandths of the size [Adobe Core 14 metrics]."""
_WIDTH_OF: dict[str, int] = {}
for _width, _letters in _WIDTHS.items():
    _WIDTH_OF.update(dict.fromkeys(_letters, _width))
_OTHER = 600
_FULL = 750
"""What Vega allows for a Chinese, Japanese or Korean letter."""
_BOLD = 1.07
"""Bold letters are wider by this factor, on average."""
_TEXT = re.compile(r"<text\b([^>]*[^>/])>(.*?)</text>", re.DOTALL)
_LINE = re.compile(r"<tspan\b([^>]*)>([^<]*)</tspan>")
_SIZE = re.compile(r'font-size="([\d.]+)px"')


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text in points, for letters of `size` points."""
    width = 0
    # A letter with an accent is as wide as the letter.
    for letter in normalize("NFD", text):
        if letter in _WIDTH_OF:
            width += _WIDTH_OF[letter]
        elif east_asian_width(letter) in "WF":
            width += _FULL
        elif not combining(letter):
            width += _OTHER
    if bold:
        return width * size * _BOLD / 1000
    return width * size / 1000


def broken(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """Return the lines of `text` that are at most `width` points wide.

    A word that is longer has a line of its own, and is not cut.
    """
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def with_widths(svg: str) -> str:
    """Return an SVG whose texts each state their width, so that no font changes it."""

    def with_width(text: re.Match[str]) -> str:
        size = _SIZE.search(text[1])
        if size is None:
            return text[0]
        bold = 'font-weight="bold"' in text[1]

        def stated(line: str) -> str:
            width = width_of(unescape(line), float(size[1]), bold=bold)
            if not width:
                return ""
            return f' textLength="{width:.2f}" lengthAdjust="spacingAndGlyphs"'

        if "<tspan" not in text[2]:
            return f"<text{text[1]}{stated(text[2])}>{text[2]}</text>"
        lines = _LINE.sub(
            lambda line: f"<tspan{line[1]}{stated(line[2])}>{line[2]}</tspan>",
            text[2],
        )
        return f"<text{text[1]}>{lines}</text>"

    return _TEXT.sub(with_width, svg)
