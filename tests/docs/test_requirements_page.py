"""The map of requirements names each of them, a test that proves it, and the code it is about."""

from __future__ import annotations

from pathlib import Path

from docs.documents import ROOT, run_python
from requirements import REQUIREMENTS


def test_every_requirement_is_on_the_map_with_its_tests(tmp_path: Path) -> None:
    ran = run_python(ROOT / "docs" / "requirements_page.py", tmp_path, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr

    rows = (tmp_path / "requirements.md").read_text(encoding="utf-8").splitlines()

    for name, text in REQUIREMENTS.items():
        [row] = [row for row in rows if row.startswith(f"| {name} |")]
        assert text in row
        assert "`test_" in row or "/test_" in row, row
