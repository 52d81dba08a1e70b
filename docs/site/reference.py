"""Write docs/reference: pages made of the program itself.

python docs/site/reference.py          # writes the pages anew
python docs/site/reference.py --check  # names what is stale, with exit code 1
"""

from __future__ import annotations

import sys
from pathlib import Path

import command_pages
import file_pages
import python_pages
import rubric_pages

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_NOTE = "<!-- Made by docs/site/reference.py: change the program, and run that. -->"


def pages() -> dict[Path, str]:
    """Return each page by its file, as the program that is installed makes it."""
    made = {
        **command_pages.pages(),
        **python_pages.pages(),
        **file_pages.pages(ROOT / "examples"),
        **rubric_pages.pages(),
    }
    return {DOCS / name: _with_note(text) for name, text in made.items()}


def _with_note(text: str) -> str:
    title, _, rest = text.partition("\n")
    lines = [line.rstrip() for line in f"{title}\n\n{_NOTE}\n{rest}".splitlines()]
    return "\n".join(lines) + "\n"


def stale(made: dict[Path, str]) -> list[str]:
    """Return the names of pages that are missing, are not as they are made, or are made no more."""
    there = set((DOCS / "reference").rglob("*.md"))
    wrong = there - set(made)
    for path, text in made.items():
        if path not in there or path.read_text("utf-8") != text:
            wrong.add(path)
    return sorted(path.relative_to(ROOT).as_posix() for path in wrong)


def write(made: dict[Path, str]) -> None:
    """Write the pages, and remove those that are made no more."""
    for path in set((DOCS / "reference").rglob("*.md")) - set(made):
        path.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    if "--check" in sys.argv:
        names = stale(pages())
        sys.stdout.write("".join(f"{name}\n" for name in names))
        sys.exit(bool(names))
    write(pages())
