"""Finds or starts the test server that all test processes of a user share on this machine.

    <temporary files>/penstock-tests-<user>-<installation>/lock      locked while a process connects or starts
                                                          /socket    each connection is a user of the server
                                                          /log       the server's output

The process that starts the server first listens on the socket, and then passes the socket to the server. New
connections wait until the server accepts them. The kernel closes the connections of a process that ends. The server
stops when its last user disconnects. The server has its own PostgreSQL, and does not read settings from the
environment.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Final

import penstock

from .account import Account

# The environment variables that a test server inherits. The variables contain paths and the locale, but no settings.
PASSED_VARIABLES: Final = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONPATH",
    "TMPDIR",
    "XDG_CACHE_HOME",
)
WAITING_USERS: Final = 1024
_FIRST_ACCOUNT: Final = 100_000


class TestServerError(Exception):
    """Signals that the test server did not start. The text contains the last line of the server's log."""

    __test__ = False


class TestServer:
    """A connection to the test server. The server runs until all processes have closed their connections."""

    __test__ = False

    def __init__(self, connection: socket.socket, endpoint_url: str, user: int, databases: dict[str, str]) -> None:
        self.endpoint_url = endpoint_url
        self.databases = databases
        self._connection = connection
        self._user = _FIRST_ACCOUNT + user
        self._numbers = count(1)

    def account(self) -> Account:
        """Returns a new account. The first six digits of the account id identify this process, and the last six digits
        are a counter.
        """
        return Account(self.endpoint_url, f"{self._user:06}{next(self._numbers):06}")

    def close(self) -> None:
        """Closes the connection. The server stops if no other process uses it."""
        self._connection.close()


def find_server() -> TestServer:
    """Connects to the test server, and starts the server if it is not running. Several processes can call this function
    concurrently.

    Raises TestServerError.
    """
    folder = _create_private_folder()
    connection = _connect(folder)
    try:
        with connection.makefile("r") as responses:
            line = responses.readline()
    except ConnectionError:
        line = ""
    if not line:
        connection.close()
        raise TestServerError(f"the test server did not start; {folder / 'log'} ends with: {_read_last_line(folder)}")
    return TestServer(connection, **json.loads(line))


def _create_private_folder() -> Path:
    """Returns the folder of the test server. Each user and each virtual environment has a separate folder, because
    environments can contain different releases.
    """
    installation = sha256(f"{penstock.__version__} {penstock.__file__} {sys.prefix}".encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"penstock-tests-{os.getuid()}-{installation}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        raise TestServerError(f"{folder} belongs to another user; set TMPDIR to a folder that you own")
    return folder


def _connect(folder: Path) -> socket.socket:
    address = folder / "socket"
    with lock_folder(folder):
        try:
            return _try_connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            address.unlink(missing_ok=True)
        with closing(socket.socket(socket.AF_UNIX)) as listener:
            listener.bind(str(address))
            listener.listen(WAITING_USERS)
            connection = _try_connect(address)
            _start(folder, listener)
        return connection


def _try_connect(address: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(address))
    except OSError:
        connection.close()
        raise
    return connection


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Locks the folder. The server holds the lock while it checks that no process is about to connect."""
    with (folder / "lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start(folder: Path, listener: socket.socket) -> None:
    """Starts the server as a separate process, which inherits the socket. Does not wait until the server is ready."""
    command = [sys.executable, "-m", "penstock_web.testing", str(folder), str(listener.fileno())]
    with (folder / "log").open("wb") as log:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=build_server_environment(),
            pass_fds=[listener.fileno()],
            check=False,  # If the server fails to start, it closes the socket.
        )


def build_server_environment() -> dict[str, str]:
    """Returns the environment variables for a test server."""
    return {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}


def _read_last_line(folder: Path) -> str:
    lines = (folder / "log").read_text(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "nothing")
