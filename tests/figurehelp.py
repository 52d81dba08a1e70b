"""What can be seen of a figure: its texts, and its colours to every kind of eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

# matplotlib is imported where it is used: the tests of figures are collected without it.
if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_TYPE = 5.0

# Dichromacy at full strength, on linear RGB [Machado, Oliveira and Fernandes 2009].
DICHROMACY = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def texts_of(figure: Figure) -> list[tuple[str, np.ndarray, float]]:
    """Every text that shows: itself, its box in pixels (left, bottom, right, top), its size."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    found = []
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            box = text.get_window_extent(renderer)
            found.append((text.get_text(), np.array(box.extents), text.get_fontsize()))
    return found


def assert_apart(name: str, figure: Figure, texts: list) -> None:
    right, top = figure.get_size_inches() * figure.dpi
    boxes = np.array([box for _, box, _ in texts])
    words = [text for text, _, _ in texts]
    assert min(size for _, _, size in texts) >= LEAST_TYPE
    for text, box in zip(words, boxes, strict=True):
        assert box[0] >= -1, (name, text)
        assert box[1] >= -1, (name, text)
        assert box[2] <= right + 1, (name, text)
        assert box[3] <= top + 1, (name, text)
    left = np.maximum(boxes[:, None, 0], boxes[None, :, 0])
    low = np.maximum(boxes[:, None, 1], boxes[None, :, 1])
    across = np.minimum(boxes[:, None, 2], boxes[None, :, 2]) - left
    up = np.minimum(boxes[:, None, 3], boxes[None, :, 3]) - low
    overlap = np.triu((across > 0.5) & (up > 0.5), 1)
    assert not overlap.any(), (
        name,
        [(words[a], words[b]) for a, b in np.argwhere(overlap)][:3],
    )


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear RGB under D65."""
    xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ) @ np.clip(rgb, 0, 1)
    f = np.where(
        (t := xyz / [0.9505, 1.0, 1.089]) > (6 / 29) ** 3,
        np.cbrt(t),
        t / (3 * (6 / 29) ** 2) + 4 / 29,
    )
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def linear(colour: object) -> np.ndarray:
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(colour))  # type: ignore[arg-type]
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
