"""Runs the test server on an open socket: `python -m penstock_web.testing FOLDER SOCKET`. The module `servers` starts
this program. The program forks, so that the caller does not wait, and the server continues after the caller ends.
"""

import os
import sys
from pathlib import Path


def main(folder: Path, socket: int) -> None:
    """Detaches from the caller, and runs the test server."""
    if os.fork():
        os._exit(0)
    os.setsid()
    from .server import run  # noqa: PLC0415

    run(folder, socket)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
