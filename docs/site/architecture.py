"""Draw docs/figures/architecture.svg, the layers as pyproject.toml has them, and road.svg.

python docs/site/architecture.py          # writes the pictures
python docs/site/architecture.py --check  # exit code 1 if they are not those that are there
"""

from __future__ import annotations

import html
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs/figures"

_WIDTH, _HEIGHT, _GAP = 1000, 46, 8
_LABELS = 330
_WORDS = {
    "judge.cli": "what people use: commands, the service",
    "judge.reward": "for training and for other frameworks",
    "judge.api": "Python: run, annotate, compare, ...",
    "judge.wording": "results in Python, and their words",
    "judge.pages": "what people see: pages, figures, tables",
    "judge.experiments": "several runs by one file",
    "judge.comparing": "runs together: models, readers, stress",
    "judge.metrics": "BLEU and other metrics",
    "judge.batching": "asking a judge about a set of studies",
    "judge.backends": "who answers: a file per provider",
    "judge.stats": "rules without a model: rubrics, statistics",
    "judge.run_files": "the files of a run",
    "judge.run_settings": "what a run is asked to do",
    "judge.plugins": "the ground: text, files, JSON",
    "judge.types": "study, annotation, outcome",
}
_ROAD = (
    ("two reports", "judge/studies", "read, joined, cut to a section"),
    ("Study", "judge/studies", "reference, candidate, fields"),
    ("Request", "judge/prompts", "the rubric's question, worded"),
    ("Completion", "judge/backends, judge/cache", "the judge's answer, kept"),
    ("Annotation", "judge/rubrics", "the errors, each with its labels"),
    ("StudyResult", "judge/running", "outcome and measures"),
    ("Estimate", "judge/stats", "a number with its interval"),
    ("Document", "judge/tables, judge/pages", "tables, pages, figures"),
)
_STYLE = """
  text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #1c2733; }
  .layer { fill: #eef3f7; stroke: #9fb3c4; }
  .name { font-family: ui-monospace, monospace; font-size: 13px; }
  .bold { font-weight: 600; }
  .way { stroke: #5b7285; fill: none; marker-end: url(#end); }
  .head { fill: #5b7285; }
  @media (prefers-color-scheme: dark) {
    text { fill: #dfe7ee; }
    .layer { fill: #22303c; stroke: #5b7285; }
  }
"""


def layers() -> list[list[str]]:
    """Return the modules of each layer, the highest first, as the rule of imports has them."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    names = next(one for one in contracts if "each layer" in one["name"])["layers"]
    return [layer.split(" : ") for layer in names]


def layers_drawn() -> str:
    """Return the picture; raises `KeyError` for a layer that has no words here."""
    boxes = []
    y = _GAP
    for modules in layers():
        shown = [name.removeprefix("judge.") for name in modules if "__" not in name]
        lines = _wrapped(shown)
        height = max(_HEIGHT, 20 + 18 * len(lines))
        boxes.append(
            f'<rect class="layer" x="1" y="{y}" width="{_WIDTH - 2}" height="{height}" rx="6"/>'
        )
        words = html.escape(_WORDS[modules[0]])
        boxes.append(f'<text x="16" y="{y + height / 2 + 5:g}">{words}</text>')
        for at, line in enumerate(lines):
            top = y + height / 2 + 5 + 18 * (at - (len(lines) - 1) / 2)
            boxes.append(
                f'<text class="name" x="{_LABELS}" y="{top:g}">{html.escape(line)}</text>'
            )
        y += height + _GAP
    body = "\n".join(boxes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" '
        f'width="{_WIDTH}" height="{y}" role="img">\n'
        "<title>The layers of judge: each imports only what is below it</title>\n"
        f"<style>{_STYLE}</style>\n{body}\n</svg>\n"
    )


def _wrapped(names: list[str]) -> list[str]:
    lines = [""]
    for name in names:
        longer = f"{lines[-1]}, {name}".removeprefix(", ")
        if len(longer) > 78:
            lines.append(name)
        else:
            lines[-1] = longer
    return lines


def road_drawn() -> str:
    """Return the picture of what becomes of a study, from a file to a table."""
    boxes = []
    width, height, gap = 225, 74, 30
    for at, (name, where, what) in enumerate(_ROAD):
        row, column = divmod(at, 4)
        x, y = 4 + column * (width + gap), 4 + row * (height + 34)
        middle = x + width / 2
        boxes += [
            f'<rect class="layer" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>',
            f'<text class="bold" x="{middle:g}" y="{y + 22}">{html.escape(name)}</text>',
            f'<text x="{middle:g}" y="{y + 43}">{html.escape(what)}</text>',
            f'<text class="name" x="{middle:g}" y="{y + 63}">{html.escape(where)}</text>',
        ]
        if at + 1 < len(_ROAD) and column < 3:
            boxes.append(
                f'<path class="way" d="M{x + width + 4} {y + height / 2:g} h{gap - 12}"/>'
            )
    body = "\n".join(boxes)
    style = f"{_STYLE}  text {{ text-anchor: middle; }}\n"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 190" width="1000" '
        'height="190" role="img">\n'
        "<title>The road of a study, from two reports to a row of a table</title>\n"
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>\n'
        f"<style>{style}</style>\n{body}\n</svg>\n"
    )


def pictures() -> dict[Path, str]:
    """Return each picture by its file."""
    return {
        FIGURES / "architecture.svg": layers_drawn(),
        FIGURES / "road.svg": road_drawn(),
    }


if __name__ == "__main__":
    for path, text in pictures().items():
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
        elif path.read_text("utf-8") != text:
            sys.exit(1)
