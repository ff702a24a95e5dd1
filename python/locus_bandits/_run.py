"""What a run's folder holds: trials, tables, comparisons, figures and the report."""

from __future__ import annotations

import csv
import html
import io
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from . import _core


def _frame(columns: dict[str, Any]) -> Any:
    """A pandas data frame, a polars one, or the columns, as installed."""
    try:
        import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ModuleNotFoundError:
        pass
    else:
        return pandas.DataFrame(columns)
    try:
        import polars  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError:
        return {key: np.asarray(column) for key, column in columns.items()}
    return polars.DataFrame(columns)


# The columns of tables that hold words.
TEXTS = {"metric", "policy", "problem", "against", "clock"}


def _cell(key: str, text: str) -> float | str | None:
    if text == "" or key in TEXTS:
        return text or None
    try:
        return float(text)
    except ValueError:
        return text


def _names(what: str, names: Sequence[str]) -> list[str]:
    if isinstance(names, str):
        raise ValueError(f"{what} is the text {names!r}, expected a list of texts")
    return list(names)


def _html_table(markdown: str) -> str:
    """The first table of a Markdown text, and the lines after it."""
    lines = markdown.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    rest = " ".join(line for line in lines if line and not line.startswith("|"))

    def cells(line: str, tag: str) -> str:
        shown = []
        for cell in line.replace("\\|", "\0").strip("|").split("|"):
            text = html.escape(cell.replace("\0", "|").strip().replace("`", ""))
            if text.startswith("**") and text.endswith("**") and len(text) > 4:
                text = f"<b>{text[2:-2]}</b>"
            shown.append(f"<{tag}>{text}</{tag}>")
        return f"<tr>{''.join(shown)}</tr>"

    if len(rows) < 2:
        return f"<p>{html.escape(rest)}</p>"
    body = "".join(cells(row, "td") for row in rows[2:])
    return f"<table><thead>{cells(rows[0], 'th')}</thead><tbody>{body}</tbody></table><p>{html.escape(rest)}</p>"


class Table:
    """A table of a run: HTML in a notebook, text in a terminal."""

    def __init__(
        self, run: Run, metric: str, policies: Sequence[str], problems: Sequence[str], against: str | None
    ) -> None:
        # The run stays, for its folder may be a temporary one.
        self._arguments = run, metric, _names("policies", policies), _names("problems", problems), against
        # Fails here where there is nothing to show.
        self._text = self._render("text")

    def _render(self, form: str) -> str:
        run, metric, policies, problems, against = self._arguments
        return _core.table(run.folder, metric, form, policies, problems, against)

    def to_markdown(self) -> str:
        """The table for a page."""
        return self._render("markdown")

    def to_latex(self) -> str:
        """The table for a paper, with the package booktabs."""
        return self._render("latex")

    def to_csv(self) -> str:
        """The numbers in full precision, one row for each policy and problem."""
        return self._render("csv")

    def to_frame(self) -> Any:
        """The same as a pandas data frame, a polars one, or a dict of lists, as installed."""
        rows = list(csv.DictReader(io.StringIO(self.to_csv())))
        keys = list(rows[0]) if rows else []
        return _frame({key: [_cell(key, row[key]) for row in rows] for key in keys})

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return _html_table(self.to_markdown())


class Comparison(Table):
    """Paired differences from one policy, with confidence intervals."""


class Figure:
    """A figure of a report, as an SVG file."""

    def __init__(self, run: Run, path: Path) -> None:
        self.path = path
        self._run = run

    @property
    def name(self) -> str:
        """What it shows, such as ``regret``."""
        return self.path.stem

    @property
    def svg(self) -> str:
        """The figure itself."""
        return self.path.read_text(encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<figure {self.path}>"


class Report:
    """The page of a run, which needs no network."""

    def __init__(self, run: Run, path: Path, figures: list[Figure]) -> None:
        self.path = path
        self.figures = figures
        self._run = run

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __repr__(self) -> str:
        return f"<report {self.path}>"

    def _repr_html_(self) -> str:
        address = html.escape(self.path.resolve().as_uri(), quote=True)
        return f'<a href="{address}" target="_blank">{html.escape(os.fspath(self.path))}</a>'


class Run:
    """The folder of a run, written by ``bench`` or by the command ``locus bench``."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        # The current folder may change.
        self.folder = Path(folder).expanduser().absolute()
        if not (self.folder / "trials.csv").is_file():
            raise FileNotFoundError(f"{self.folder} is not the folder of a run: it has no trials.csv")

    @property
    def trials(self) -> Any:
        """One row for each trial: a pandas data frame, a polars one, or a dict of arrays, as installed."""
        columns, damages = _core.trials(self.folder)
        for damage in damages:
            warnings.warn(damage, stacklevel=2)
        return _frame(columns)

    def table(
        self,
        metric: Literal["cumulative", "simple", "runtime"] = "cumulative",
        *,
        policies: Sequence[str] = (),
        problems: Sequence[str] = (),
    ) -> Table:
        """Regret in percent of the uniform policy's, cumulative or simple, or the runtime of a trial."""
        return Table(self, metric, policies, problems, None)

    def compare(
        self,
        policy: str,
        metric: Literal["cumulative", "simple"] = "cumulative",
        *,
        policies: Sequence[str] = (),
        problems: Sequence[str] = (),
    ) -> Comparison:
        """Paired differences of the other policies from ``policy``, with 95 % confidence intervals."""
        return Comparison(self, metric, policies, problems, policy)

    def report(self, output: str | os.PathLike[str] | None = None) -> Report:
        """Writes the page and its figures, into the folder of the run or to ``output``, an .html file or a folder."""
        page, figures, messages = _core.report([self.folder], None if output is None else Path(output))
        for message in messages:
            warnings.warn(message, stacklevel=2)
        return Report(self, page, [Figure(self, path) for path in figures])

    def figures(self) -> list[Figure]:
        """The figures of the report."""
        return self.report().figures

    def __repr__(self) -> str:
        return f"Run({os.fspath(self.folder)!r})\n{self.table()}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
