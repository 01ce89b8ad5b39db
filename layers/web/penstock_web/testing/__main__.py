"""`python -m penstock_web.testing FOLDER SOCKET`: becomes the test server that listens on this open socket.

`penstock.testing.servers` calls it. The caller's process goes on at once; the server has no parent process.
"""

import os
import sys
from pathlib import Path


def main(folder: Path, socket: int) -> None:
    """Detach from the caller, then run. The imports of the service come after that."""
    if os.fork():
        os._exit(0)
    os.setsid()
    from .server import run  # noqa: PLC0415

    run(folder, socket)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
