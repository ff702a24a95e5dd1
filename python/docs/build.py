"""Writes the API reference, one page that needs no network, from the docstrings: ``python python/docs/build.py [FOLDER]``.

Needs pdoc beside the package. The folder is target/python-doc of the repository by default.
"""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import numpy.typing

# Signatures say ArrayLike, not the union that it stands for. The package is imported after this.
numpy.typing.ArrayLike = type("ArrayLike", (), {"__module__": "builtins"})

import pdoc  # noqa: E402

import locus_bandits  # noqa: E402

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "target" / "python-doc"


def show_base_class() -> None:
    """Shows the native methods, which all policies have in common, with ``BasePolicy``."""
    base, native = locus_bandits.BasePolicy.__mro__[:2]
    for name, member in vars(native).items():
        if not name.startswith("_"):
            setattr(base, name, member)


def dead_links(page: str) -> list[str]:
    """Links to places that the page does not have."""
    places = set(re.findall(r'id="([^"]+)"', page))
    return sorted(set(re.findall(r'href="#([^"]+)"', page)) - places)


def main() -> int:
    """Writes the page and checks it."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    show_base_class()
    pdoc.render.configure(docformat="numpy", show_source=False, search=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Run in the folder python, pdoc sees the installed package and its source.
        warnings.filterwarnings("ignore", message="'locus_bandits' may refer to", category=RuntimeWarning)
        pdoc.pdoc("locus_bandits", output_directory=folder)
    path = folder / "locus_bandits.html"
    page = path.read_text(encoding="utf-8")
    missing = [name for name in locus_bandits.__all__ if name[0] != "_" and f'<section id="{name}"' not in page]
    for problem in [f"no section for {name}" for name in missing] + [f"dead link: {link}" for link in dead_links(page)]:
        print(problem, file=sys.stderr)
    if missing or dead_links(page):
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
