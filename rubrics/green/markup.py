"""An answer's markup made plain: bold type, tables, HTML, JSON, fullwidth signs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from judge.rubrics.green.counts import read_count
from judge.rubrics.green.layout import Reason, unparsed
from judge.types import UnparsedError

_WIDE = {code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1B), 0xFF08, 0xFF09, 0xFF3B, 0xFF3D)}
_WIDE |= {ord("\uff1b"): ";", ord("\uff0e"): ".", ord("\u3002"): ". ", ord("\u3001"): ", "}
_WIDE |= {ord("\u3010"): "[", ord("\u3011"): "]", ord("\uff0c"): ","}
_WIDE_SIGN = re.compile(f"[{re.escape(''.join(map(chr, _WIDE)))}]")

_TAG = re.compile(r"<(?:h[1-6]|ul|ol|li|p|br|table|tr|td|th|b|strong|div|del)\b[^<>]{0,200}>", re.I)
_STRUCK = re.compile(r"~~[^~\n]{0,200}~~|<del>[^<]{0,200}</del>", re.IGNORECASE)
_ENDS_LINE = (
    r"<br\s?/?>|</(?:p|li|tr|h[1-6]|div|ul|ol|table)>|<(?:p|ul|ol|table|div)\b[^<>]{0,200}>"
)
_OTHER_TAG = r"</?(?:b|i|u|em|strong|span|td|th|tbody|thead|html|body|code|pre)\b[^<>]{0,200}>"
_HTML = [
    (re.compile(tag, re.IGNORECASE), plain)
    for tag, plain in (
        (_STRUCK.pattern, ""),
        (r"<h[1-6]\b[^<>]{0,200}>", "\n## "),
        (r"<li\b[^<>]{0,200}>", "\n- "),
        (r"<tr\b[^<>]{0,200}>", "\n| "),
        (r"</t[dh]>", " | "),
        (_ENDS_LINE, "\n"),
        (_OTHER_TAG, ""),
    )
]
"""HTML's tags and what stands for each, in the order in which they are replaced."""
_SIGNS = (("&nbsp;", " "), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_BOXED = re.compile(r"\$?\\boxed\{\s*([0-9]{1,4})\s*\}\$?")
_STAR_BULLET = re.compile(r"^([^\S\n]*(?:>[^\S\n]*)*)\*(?=[^\S\n])", re.MULTILINE)
_UNDERLINE = re.compile(r"(?<![\w_])_{1,2}(?=[^\s_])|(?<=[^\s_])_{1,2}(?![\w_])")
_TICK = re.compile(r"(?<!`)`{1,2}(?!`)")
_TABLE_LINE = re.compile(r"[^\S\n]*\|.*\|[^\S\n]*$")
_TABLE_RULE = re.compile(r"[\s|:+-]+")
_ESCAPED = re.compile(r"\\([][().#*_:-])")
_QUOTED = re.compile(r"^[^\S\n]*>[^\S\n]?", re.MULTILINE)
_SYMBOL = re.compile(r"[\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001faff]\ufe0f?")
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_KEY = re.compile(r"([a-f])(?:_|$)", re.IGNORECASE)
_LEAST_SECTIONS = 3
_KIND_KEYS = (
    ("expl", "Explanation"),
    ("insig", "Clinically Insignificant Errors"),
    ("nonsig", "Clinically Insignificant Errors"),
    ("sig", "Clinically Significant Errors"),
    ("match", "Matched Findings"),
)


def plain_answer(text: str) -> str:
    """Return a whole answer with HTML, JSON and fullwidth signs as lines of plain text."""
    if not text.isascii() and _WIDE_SIGN.search(text):
        text = text.translate(_WIDE)
    if "<" in text and _TAG.search(text):
        for tag, plain in _HTML:
            text = tag.sub(plain, text)
        for sign, plain in _SIGNS:
            text = text.replace(sign, plain)
    if "\\[" in text or "\\(" in text:
        text = _ESCAPED.sub(r"\1", text)
    return _from_json(text) if "{" in text else text


def plain_section(body: str) -> str:
    """Return the body of a section without bold type, struck text and tables."""
    if "~" in body or "<" in body:
        body = _STRUCK.sub("", body)
    if "\\boxed" in body:
        body = _BOXED.sub(r"\1", body)
    if ">" in body:
        body = _QUOTED.sub("", body)
    if not body.isascii():
        body = _SYMBOL.sub("", body)
    if "*" in body or "`" in body:
        body = _TICK.sub("", _STAR_BULLET.sub(r"\1-", body).replace("*", ""))
    if "_" in body:
        body = _UNDERLINE.sub("", body)
    return _without_tables(body) if "|" in body else body


def is_plain(text: str) -> bool:
    """Return whether `text` holds no markup, so that it is read back unchanged."""
    try:
        return plain_section(plain_answer(text)) == text
    except UnparsedError:
        return False


def _without_tables(body: str) -> str:
    lines = body.split("\n")
    kept: list[str] = []
    in_table = False
    for at, line in enumerate(lines):
        if not _TABLE_LINE.match(line):
            in_table = False
            kept.append(line)
            continue
        following = lines[at + 1] if at + 1 < len(lines) else ""
        is_head = not in_table and "-" in following and _TABLE_RULE.fullmatch(following)
        in_table = True
        if not is_head and not _TABLE_RULE.fullmatch(line):
            kept.append(_row([cell.strip() for cell in line.strip().strip("|").split("|")]))
    return "\n".join(kept)


def _row(cells: list[str]) -> str:
    """Return a row of a table as a line: what comes before its count, the count, the rest."""
    counts = [
        (at, count.value)
        for at, cell in enumerate(cells)
        if at and cell[:1].isalnum() and (count := read_count(cell + "\n"))
        if not cell[count.end :].strip(" .")
    ]
    if len(counts) > 1:
        raise unparsed(Reason.UNREADABLE_COUNT, "a row of a table has several counts")
    for at, value in counts:
        rest = "; ".join(cell for cell in cells[at + 1 :] if cell.strip("-\u2013\u2014 "))
        return f"{' '.join(cells[:at])}: {value}. {rest}"
    return ": ".join(filter(None, cells))


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _from_json(text: str) -> str:
    """Return a JSON object whose keys are the sections in the layout; other text unchanged."""
    found = _OBJECT.search(text)
    try:
        data = json.loads(found[0] if found else "", object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return text
    parts = []
    for key, value in data.items():
        letters = (
            re.sub(r"[^a-z]", "", key.lower()).removeprefix("clinically").removeprefix("reasoning")
        )
        title = next((title for start, title in _KIND_KEYS if letters.startswith(start)), None)
        if title is None:
            return text
        parts.append(f"[{title}]:\n" + "\n".join(_json_lines(value)))
    return "\n\n".join(parts) + "\n" if len(parts) >= _LEAST_SECTIONS else text


def _json_lines(value: object) -> Iterable[str]:
    if not isinstance(value, dict) or set(map(str.lower, value)) & {"count", "findings", "errors"}:
        yield _json_slot(value)
    else:
        for key, inner in value.items():
            letter = _KEY.match(key)
            yield f"{f'({letter[1]})' if letter else key}: {_json_slot(inner)}"


def _json_slot(value: object) -> str:
    if isinstance(value, dict):
        counts = [v for v in value.values() if isinstance(v, int) and not isinstance(v, bool)]
        lists = [v for v in value.values() if isinstance(v, list)]
        if len(counts) != 1 or len(counts) + len(lists) != len(value):
            return "?"
        return f"{counts[0]}. {_joined(lists[0]) if lists else ''}"
    if isinstance(value, list):
        return f"{len(value)}. {_joined(value)}" if all(isinstance(v, str) for v in value) else "?"
    if isinstance(value, bool) or value is None:
        return "?"
    return f"{value}." if isinstance(value, int) else str(value)


def _joined(texts: list[object]) -> str:
    return "; ".join(str(text).replace(";", ",").replace("\n", " ") for text in texts)
