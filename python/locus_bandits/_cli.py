"""The ``locus`` command."""

from __future__ import annotations

import signal
import sys

from . import _core


def main() -> int:
    """Runs the command with the words that the process was called with."""
    # The command catches Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(sys.argv)
