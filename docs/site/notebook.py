"""The tutorial: examples/tutorial.ipynb as a page, and run anew.

python docs/site/notebook.py    runs it and writes down what came out
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

_TUTORIAL = Path(__file__).parents[2] / "examples" / "tutorial.ipynb"
# What pandas says of a table's looks; the site has its own.
_LOOKS = re.compile(r"<style.*?</style>\s*|(?<=<t)(able|r) [^>]*", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def as_markdown(path: Path) -> str:
    """Return a notebook as a page: its texts, its code, and under it what came out."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell))


def _cell(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"]).strip()
    if cell["cell_type"] == "markdown":
        return [source]
    language = "sh" if source.startswith("!") else "python"
    return [f"```{language}\n{source}\n```", *(_output(one) for one in cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="table">\n{_LOOKS.sub(_unstyled, "".join(data["text/html"]))}\n</div>'
    text = "".join(output.get("text") or data["text/plain"]).rstrip()
    return f"```text\n{text}\n```"


def _unstyled(found: re.Match[str]) -> str:
    return found[1] or ""


def execute(path: Path) -> None:
    """Run a notebook in its folder and write down what came out, without the times.

    Raises nbclient's CellExecutionError where a cell fails.
    """
    import nbclient
    import nbformat

    # A cell's `!judge` is that of the Python that runs here.
    os.environ["PATH"] = (
        f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        coalesce_streams=True,
    ).execute()
    for output in (one for cell in notebook.cells for one in cell.get("outputs", ())):
        if "text" in output:  # a command writes as on a terminal
            output.text = _COLOUR.sub("", output.text.replace("\r\n", "\n"))
    # Which Python it was is nobody's concern.
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    execute(Path(sys.argv[1]) if len(sys.argv) > 1 else _TUTORIAL)
