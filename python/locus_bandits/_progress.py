"""The progress of a run, in a terminal or in a notebook."""

from __future__ import annotations

import sys
from typing import Any, Protocol

BAR_WIDTH = 30


def duration(seconds: float) -> str:
    """Seconds as people read them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def describe(ended: int, asked: int, part: float, gone: float, left: float | None) -> str:
    """The progress in words."""
    words = f"{ended} of {asked} trials, {duration(gone)} gone"
    return words if left is None or ended == asked else f"{words}, about {duration(left)} left"


class Bar(Protocol):
    """Shows the progress of a run."""

    def show(self, ended: int, asked: int, part: float, gone: float, left: float | None) -> None: ...

    def close(self) -> None: ...


class TerminalBar:
    """A line that is written again and again."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, ended: int, asked: int, part: float, gone: float, left: float | None) -> None:
        full = round(part * BAR_WIDTH)
        line = f"[{'#' * full}{'.' * (BAR_WIDTH - full)}] {describe(ended, asked, part, gone, left)}"
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()


class NotebookBar:
    """An output of the cell that is replaced again and again."""

    def __init__(self, display: Any, html: Any) -> None:
        self._display, self._html = display, html
        self._handle: Any = None
        self._words = ""

    def show(self, ended: int, asked: int, part: float, gone: float, left: float | None) -> None:
        words = describe(ended, asked, part, gone, left)
        if words == self._words:
            return
        self._words = words
        page = self._html(f'<progress max="1" value="{part:.4f}" aria-label="{words}"></progress> {words}')
        if self._handle is None:
            self._handle = self._display(page, display_id=True)
        else:
            self._handle.update(page)

    def close(self) -> None:
        pass


def bar() -> Bar | None:
    """A bar for where this runs; None where nobody would see it."""
    if "IPython" in sys.modules:
        from IPython import get_ipython  # type: ignore[import-not-found, unused-ignore]
        from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

        shell = get_ipython()  # type: ignore[no-untyped-call, unused-ignore]
        if type(shell).__name__ == "ZMQInteractiveShell":
            return NotebookBar(display, HTML)
    # Programs without a console have no standard error.
    is_terminal = getattr(sys.stderr, "isatty", None)
    return TerminalBar() if is_terminal is not None and is_terminal() else None
