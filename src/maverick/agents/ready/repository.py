"""What git says of a folder, asked for without running anything that the repository's own settings name."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from maverick.exceptions import ProcessError

_LARGEST_DIFF = 200_000
"""Characters of a diff that are kept: a model can read no more at once."""
_SAFELY = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager")
_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv")


async def changes_since(cwd: Path, revision: str) -> str:
    """What is different in the folder's files from what they were at a revision.

    Raises:
        ProcessError: Git is not there, or does not know the revision.
    """
    return await _git(cwd, *_DIFF, "--end-of-options", revision, "--")


async def staged_changes(cwd: Path) -> str:
    """What the next commit would change: what is staged, or everything when nothing is.

    Raises:
        ProcessError: Git is not there, or the folder is in no repository.
    """
    return await _git(cwd, *_DIFF, "--cached") or await _git(cwd, *_DIFF)


async def _git(cwd: Path, *arguments: str) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *_SAFELY,
            *arguments,
            cwd=cwd,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError as error:
        raise ProcessError("git was not found. Install it, or hand over the diff.", cause=error) from error
    output, complaint = await process.communicate()
    if process.returncode:
        said = " ".join(complaint.decode(errors="replace").split())
        raise ProcessError(
            f"git could not tell what changed in {cwd}: {said or 'it did not say why'}. Hand over the diff, or work "
            "in a repository.",
            exit_code=process.returncode,
            stderr=said,
        )
    diff = output.decode(errors="replace")
    if len(diff) <= _LARGEST_DIFF:
        return diff
    return f"{diff[:_LARGEST_DIFF]}\n[{len(diff) - _LARGEST_DIFF} more characters are left out]\n"
