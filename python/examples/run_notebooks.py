"""Executes every notebook of this folder in a temporary folder; fails on an error, or if a notebook does not end in a picture.

Needs nbclient, ipykernel and matplotlib beside the package. The notebooks themselves are not changed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

PICTURES = {"image/png", "image/svg+xml"}
SECONDS_PER_CELL = 600


def problem_of(path: Path) -> str | None:
    """Runs a notebook and says what is wrong with it."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if any(cell.outputs or cell.execution_count is not None for cell in code):
        return "it has outputs: clear them before you commit"
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=SECONDS_PER_CELL,
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute()
        except CellExecutionError as error:
            return str(error)
    shown = {kind for output in code[-1].outputs for kind in output.get("data", {})}
    if not shown & PICTURES:
        return f"its last cell shows {', '.join(sorted(shown)) or 'nothing'}, expected a picture"
    return None


def main() -> int:
    """Runs the notebooks that the command names, or all."""
    paths = [Path(word) for word in sys.argv[1:]] or sorted(Path(__file__).parent.glob("*.ipynb"))
    failed = 0
    for path in paths:
        start = time.monotonic()
        problem = problem_of(path)
        print(f"{path.name}: {'FAILED' if problem else 'ok'}, {time.monotonic() - start:.0f} s", flush=True)
        if problem:
            failed += 1
            print(problem, file=sys.stderr)
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
