"""What the README's first command leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import maverick

ROOT = Path(__file__).parents[1]
# Installs nothing, and has a folder of its own for packages.
_PYTHON = """\
#!/bin/sh
case "$1 $2" in
    "-m pip") exit 0 ;;
    "-c import sysconfig"*) echo "{site_packages}"; exit 0 ;;
esac
PYTHONPATH="{sources}" exec "{python}" "$@"
"""


def test_setting_up_the_product_gives_its_command(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(
        _PYTHON.format(site_packages=tmp_path, sources=ROOT / "src", python=sys.executable), encoding="utf-8"
    )
    python.chmod(0o755)

    subprocess.run(["make", f"VENV={tmp_path}", f"{tmp_path}/.run"], cwd=ROOT, check=True)  # noqa: S603, S607 - our own
    shown = subprocess.run(  # noqa: S603 - our own
        [tmp_path / "bin" / "maverick", "--version"], capture_output=True, text=True, check=True
    )

    assert shown.stdout == f"maverick {maverick.__version__}\n"
