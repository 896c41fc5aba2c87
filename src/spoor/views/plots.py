"""Curves as SVG for pages with a light or a dark background."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

GREY = "#7d8894"
COLOURS = ("#12926b", "#c2621b", "#5a6fd6", "#b0417c", "#8a7a10", "#3c8fb0", "#8d5bc1", "#6b7680")
"""Middle tones, visible on white and on black."""


def curves(
    lines: Mapping[str, Sequence[Sequence[float]]],
    *,
    x: str,
    y: str,
    size: tuple[float, float] = (8.0, 3.6),
    until: float | None = None,
    level: tuple[float, float, float] | None = None,
    salt: str = "spoor",
    marks: Mapping[str, Sequence[Sequence[float]]] | None = None,
) -> str:
    """Named lines of [x, y] points as one SVG element, text left as text, no outside reference.

    The x axis reaches `until` at least. `level`: a horizontal line for comparison, with the ends of
    its interval. `marks`: named points from other sources. Plots on one page need different values
    of `salt`, for the names within.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "text.color": GREY,
        "axes.edgecolor": GREY,
        "axes.labelcolor": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "font.family": "sans-serif",
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        for (name, points), colour in zip(lines.items(), COLOURS * 3, strict=False):
            axes.plot(
                [point[0] for point in points],
                [point[1] for point in points],
                color=colour,
                label=name,
                linewidth=2,
            )
        for index, (name, points) in enumerate((marks or {}).items()):
            axes.plot(
                [point[0] for point in points],
                [point[1] for point in points],
                color=GREY,
                marker="os^Dv"[index % 5],
                linestyle="none",
                label=name,
            )
        if level is not None:
            axes.axhspan(level[1], level[2], color=GREY, alpha=0.15, linewidth=0)
            axes.axhline(level[0], color=GREY, linestyle=(0, (4, 3)), linewidth=1.2)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_xlim(left=0)
        if until is not None:
            last = max((points[-1][0] for points in lines.values() if len(points)), default=0.0)
            axes.set_xlim(right=max(until, last))
        axes.set_ylim(bottom=0)
        if level is not None:
            # A wide interval must not hide the curves.
            highest = max((point[1] for points in lines.values() for point in points), default=0.0)
            axes.set_ylim(top=1.1 * max(1.0, highest, min(level[2], max(level[0], 2 * highest))))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if len(lines) + len(marks or {}) > 1:
            axes.legend(frameon=False, labelcolor=GREY)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = out.getvalue()
    return svg[svg.index("<svg") :]
