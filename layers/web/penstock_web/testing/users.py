"""Counts the users of the test server. Each connection to the server's socket counts as a user. The server stops after
the last user disconnects.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import threading
from itertools import count
from pathlib import Path

from .servers import lock_folder


class ServerUsers:
    """Sends the server's address and a number to each user, and waits until the last user disconnects."""

    def __init__(self, folder: Path, listener: socket.socket) -> None:
        self._folder = folder
        self._listener = listener
        self._numbers = count()

    def serve(self, endpoint_url: str, databases: dict[str, str]) -> None:
        """Starts a thread that serves users. The thread sends SIGTERM to this process after the last user has
        disconnected.
        """
        response: dict[str, object] = {"endpoint_url": endpoint_url, "databases": databases}
        threading.Thread(target=self._serve, args=(response,), daemon=True).start()

    def _serve(self, response: dict[str, object]) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._listener:
                        self._accept(selector, response)
                    else:
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr] # a socket; a user only closes the connection
                if len(selector.get_map()) == 1 and self._close_unused():
                    break
        os.kill(os.getpid(), signal.SIGTERM)

    def _accept(self, selector: selectors.BaseSelector, response: dict[str, object]) -> None:
        connection, _ = self._listener.accept()
        try:
            connection.sendall(json.dumps({**response, "user": next(self._numbers)}).encode() + b"\n")
        except ConnectionError:  # The user has disconnected before the server responded.
            connection.close()
        else:
            selector.register(connection, selectors.EVENT_READ)

    def _close_unused(self) -> bool:
        """Closes the socket, unless another user is waiting. Returns whether the socket is closed."""
        with lock_folder(self._folder), selectors.DefaultSelector() as waiting:
            waiting.register(self._listener, selectors.EVENT_READ)
            if waiting.select(0):
                return False
            (self._folder / "socket").unlink(missing_ok=True)
            self._listener.close()
            return True
