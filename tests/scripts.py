"""Runs a piece of code in a process of its own, for what can only be seen from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import maverick

_SOURCES = str(Path(str(maverick.__file__)).parents[1])


def run_python(code: str, *, timeout: float = 60) -> str:
    """What the code prints. It has to end by itself, with success, within the timeout."""
    paths = [_SOURCES, *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(  # noqa: S603 - our own code, in our own interpreter
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
