"""The site is made of all pages, and their links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from docs.documents import ROOT

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)[^)]*\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_docs", ROOT / "docs" / "build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.requirement("DOCS-SITE")
def test_every_page_is_listed_once_with_what_is_on_it(build: ModuleType) -> None:
    listed = [page.file for section in build.navigation().values() for page in section]
    pages = {*(ROOT / "docs").rglob("*.md")} - {ROOT / "docs" / "README.md"}

    assert sorted({*listed} & pages) == sorted(pages)
    assert len(listed) == len({*listed})
    assert all(file.exists() for file in listed)


@pytest.mark.requirement("DOCS-SITE")
def test_every_link_of_the_site_leads_to_a_page_of_it(build: ModuleType, tmp_path: Path) -> None:
    build.write_sources(tmp_path)

    docs = tmp_path / "docs"
    pages = [*docs.rglob("*.md")]
    for page in pages:
        for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            if "://" not in target:
                assert (page.parent / target).exists(), (page.relative_to(docs), target)
    named = LINK.findall((docs / "llms.txt").read_text(encoding="utf-8"))
    assert len(named) > 50
    assert all((docs / name).with_suffix(".md").exists() for name in named)
    settings = (tmp_path / "zensical.toml").read_text(encoding="utf-8")
    assert all(f'"{page.relative_to(docs)}"' in settings for page in pages if page.parent.name == "guides")
