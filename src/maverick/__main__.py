"""``python -m maverick`` is the same as ``maverick``."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path and sys.path[0] == os.getcwd():  # noqa: PTH109 - little is loaded before this
        del sys.path[
            0
        ]  # else a module in the current folder, perhaps a stranger's, would hide an installed one
    from maverick.cli.main import main

    sys.exit(main())
