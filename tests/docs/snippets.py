"""Runs the Python of a document as one program: ``python -m docs.snippets DOCUMENT…``.

The blocks share their names and run in order. A block may use ``await`` as in ``python -m asyncio``. A block that is
followed by one of ``text`` has to print exactly that.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import sys
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from types import CodeType, ModuleType

from docs.documents import Block, read_blocks
from maverick.testing import forbid_network


class Document:
    """The program that a document's blocks make.

    Args:
        path: The document.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._module = ModuleType("__main__")
        sys.modules["__main__"] = self._module

    def run(self) -> None:
        """Run all blocks.

        Raises:
            AssertionError: One printed something else than the document says.
        """
        blocks = [*read_blocks(self._path), Block("", "", 0)]
        with asyncio.Runner() as runner:
            for block, following in pairwise(blocks):
                if block.language == "python":
                    printed = self._run(block, runner)
                    if following.language == "text":
                        assert printed.rstrip() == following.text, f"line {block.line} printed:\n{printed}"

    def _run(self, block: Block, runner: asyncio.Runner) -> str:
        code = self._compile(block)
        with redirect_stdout(io.StringIO()) as printed:
            outcome = eval(code, self._module.__dict__)  # noqa: S307 - the repository's own documents
            if inspect.iscoroutine(outcome):
                runner.run(outcome)
        return printed.getvalue()

    def _compile(self, block: Block) -> CodeType:
        """The block's code; its lines are those of the document, so that a traceback leads there."""
        tree = ast.increment_lineno(ast.parse(block.text), block.line - 1)
        code: CodeType = compile(tree, str(self._path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        return code


if __name__ == "__main__":
    forbid_network()
    for name in sys.argv[1:]:
        Document(Path(name)).run()
