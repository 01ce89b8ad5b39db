"""Turns this process into the test server, which listens on an open socket: `python -m penstock_web.testing FOLDER
SOCKET`.

`penstock.testing.servers` starts it. The caller's process continues at once. The server has no parent process.
"""

import os
import sys
from pathlib import Path


def main(folder: Path, socket: int) -> None:
    """Detaches from the caller, then imports the service and runs it."""
    if os.fork():
        os._exit(0)
    os.setsid()
    from .server import run  # noqa: PLC0415

    run(folder, socket)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
