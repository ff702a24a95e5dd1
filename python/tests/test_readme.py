"""The code of README.md runs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
NEEDS = {"make_env": "gymnasium"}


def blocks() -> list[tuple[int, str]]:
    """The Python blocks, each with the number of its first line."""
    text = README.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)), match.group(1)) for match in found]


def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    assert len(blocks()) == 9
    for line, code in blocks():
        missing = [package for word, package in NEEDS.items() if word in code and not importlib.util.find_spec(package)]
        if not missing:
            # Errors name the line of the page.
            exec(compile("\n" * line + code, str(README), "exec"), names)
    assert (tmp_path / "runs" / "mine" / "report.html").is_file()
    assert names["policy"].n_observed == 107
