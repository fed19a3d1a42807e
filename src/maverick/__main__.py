"""``python -m maverick`` is the same as ``maverick``."""

import sys

from maverick.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
