"""``python -m maverick`` is the same as ``maverick``."""

import os
import sys

if __name__ == "__main__":
    try:
        here = os.getcwd()  # noqa: PTH109 - little is loaded before this
    except OSError:  # the folder was deleted
        here = ""
    if not sys.flags.safe_path and sys.path[0] == here:
        # Else a module in the current folder, perhaps a stranger's, would hide an installed one.
        del sys.path[0]
    from maverick.cli.main import main

    sys.exit(main())
