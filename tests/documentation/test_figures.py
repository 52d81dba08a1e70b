"""The pictures of the architecture are those of the layers as they are."""

from __future__ import annotations

import architecture


def test_the_pictures_are_of_the_layers_as_they_are() -> None:
    for path, text in architecture.pictures().items():
        assert path.read_text("utf-8") == text, "python docs/site/architecture.py"
