"""Runs the test server on an open socket: `python -m penstock_web.testing FOLDER SOCKET`. `servers` starts
this program. The caller continues at once. The server has no parent process.
"""

import os
import sys
from pathlib import Path


def main(folder: Path, socket: int) -> None:
    """Detaches from the caller, then imports and runs the service."""
    if os.fork():
        os._exit(0)
    os.setsid()
    from .server import run  # noqa: PLC0415

    run(folder, socket)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
