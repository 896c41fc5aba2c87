"""A bar that shows how far a crawl has come: in a notebook, or on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from spoor.display import shown
from spoor.live.background import Progress


class ProgressBar:
    """Shows the newest progress where that has changed."""

    def __init__(self, draw: Callable[[Progress], object]) -> None:
        self._draw = draw
        self._drawn: Progress | None = None

    def show(self, progress: Progress) -> None:
        """Draw it, unless nothing is new."""
        if progress != self._drawn:
            self._drawn = progress
            self._draw(progress)


@contextmanager
def bar_for(pages: int | None, wanted: bool | None) -> Iterator[ProgressBar]:
    """A bar for a crawl with a budget of so many `pages`. `wanted` None: in a notebook only."""
    display = _display_of_notebook()
    if wanted is False or (wanted is None and display is None):
        yield ProgressBar(lambda progress: None)
    elif display is not None:
        yield ProgressBar(_in_notebook(display, pages))
    else:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        columns = (BarColumn(), TextColumn("{task.completed}/{task.total} {task.description}"))
        with Bars(*columns, console=Console(stderr=True)) as bars:
            task = bars.add_task("", total=pages)

            def draw(now: Progress) -> None:
                bars.update(task, completed=now.fetched, description=f"{now.found} found")

            yield ProgressBar(draw)


def _display_of_notebook() -> Any:
    """`IPython.display.display` where this is a notebook: it then says with `display_id` where to
    draw anew. None elsewhere, also in IPython on a terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display


class _Drawn:
    """Something to show, as HTML and as text."""

    def __init__(self, html: str, text: str) -> None:
        self._html = html
        self._text = text

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return self._text


def _in_notebook(display: Any, pages: int | None) -> Callable[[Progress], object]:
    handle: list[Any] = []

    def draw(now: Progress) -> None:
        text = f"{now.found} found of {now.fetched} fetched"
        share = f' value="{now.fetched}" max="{pages}"' if pages else ""
        last = escape(shown(now.last[:120]))
        html = f"<progress{share}></progress> {text} <small>{last}</small>"
        if handle:
            handle[0].update(_Drawn(html, text))
        else:
            handle.append(display(_Drawn(html, text), display_id=True))

    return draw
