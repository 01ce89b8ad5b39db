"""Implements `penstock ui`: opens the console in a browser."""

from __future__ import annotations

import os
import sys

import typer

from penstock_web.cli.client import RestClient
from penstock_web.cli.options import Endpoint
from penstock_web.cli.printing import print_lines
from penstock_web.local_error import LocalError

app = typer.Typer()


@app.command("ui", help="open the console in a browser, and print its address")
def ui(endpoint: Endpoint = None) -> None:
    """Prints the console's address, and opens it if this machine has a graphical browser. Raises LocalError if the
    service does not respond or has no console.
    """
    client = RestClient(endpoint)
    if not client.serves("/console"):
        raise LocalError(f"{client.endpoint} has no console. Start the service with QUEUE_CONSOLE=read or full")
    address = f"{client.endpoint}/console"
    print_lines([address])
    if has_browser():
        import webbrowser

        webbrowser.open(address)


def has_browser() -> bool:
    """Returns whether a browser can open a window: on macOS always, and elsewhere if BROWSER or a display is set. A
    browser inside the terminal does not count, because the console's address is then more useful.
    """
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
