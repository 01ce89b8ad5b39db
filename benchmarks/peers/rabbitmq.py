"""Runs Debian's RabbitMQ with classic, lazy or quorum queues, persistent messages and publisher confirms."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure.cpu import Meter
from benchmarks.system import UnavailableError, accepts, bytes_below, free_port, stop_process, wait_until

from . import packages
from .library_peer import LibraryPeer, python_driver

ERLANG = (
    "base crypto os-mon mnesia public-key ssl asn1 inets syntax-tools xmerl runtime-tools tools eldap ftp tftp "
    "parsetools snmp"
)
DEBIAN = ["rabbitmq-server", *(f"erlang-{part}" for part in ERLANG.split())]
ERL = """#!/bin/sh
ROOTDIR="{root}" BINDIR="{erts}/bin" EMU=beam PROGNAME=erl
export ROOTDIR BINDIR EMU PROGNAME
exec "$BINDIR/erlexec" "$@"
"""
CONFIGURATION = """listeners.tcp.local = 127.0.0.1:{port}
loopback_users.guest = true
vm_memory_high_watermark.relative = 0.6
disk_free_limit.absolute = 200MB
log.console = true
log.console.level = warning
log.file = false
"""


class Rabbitmq(LibraryPeer):
    """Implements the peers `rabbitmq-classic`, `rabbitmq-lazy` and `rabbitmq-quorum`. Each peer has a broker."""

    library_counts = False
    pushes = True

    def __init__(self, kind: str) -> None:
        self.name = f"rabbitmq-{kind}"
        self._kind = kind
        self._folder = Path(tempfile.mkdtemp(prefix="rabbitmq"))
        self._epmd: subprocess.Popen[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Raises UnavailableError."""
        root = packages.debian("rabbitmq", DEBIAN)
        self.command = python_driver(sys.executable, os.environ.get("RABBITMQ_DRIVER", "rabbitmq_driver"))
        self._port = free_port()
        environment = self._environment(root)
        (self._folder / "rabbitmq.conf").write_text(CONFIGURATION.format(port=self._port))
        (self._folder / "plugins").write_text("[].\n")
        log = self._folder / "log"
        server = next(root.glob("usr/lib/rabbitmq/lib/*/sbin/rabbitmq-server"))
        with log.open("wb") as output:
            epmd = [str(root / "usr/bin/epmd"), "-port", environment["ERL_EPMD_PORT"]]
            self._epmd = subprocess.Popen(epmd, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            self._process = subprocess.Popen(
                [str(server)], env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        wait_until(lambda: accepts(self._port), self._process, log, seconds=120)
        self.meter = Meter({"broker": [self._process.pid]})

    def _environment(self, root: Path) -> dict[str, str]:
        """Returns the environment variables of the broker.

        The broker writes only below this peer's folder, and listens only on the loopback address.
        """
        erlang = root / "usr/lib/erlang"
        erts = next(iter(erlang.glob("erts-*")), None)
        if erts is None:
            raise UnavailableError("no Erlang in Debian's packages")
        programs = self._folder / "bin"
        programs.mkdir()
        (programs / "erl").write_text(ERL.format(root=erlang, erts=erts))
        (programs / "erl").chmod(0o755)
        folder = str(self._folder)
        return {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": folder,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(free_port()),
            "RABBITMQ_NODENAME": f"bench{self._port}@localhost",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "RABBITMQ_MNESIA_BASE": f"{folder}/data",
            "RABBITMQ_LOG_BASE": f"{folder}/logs",
            "RABBITMQ_ALLOW_INPUT": "1",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-noinput -kernel inet_dist_use_interface {127,0,0,1}",
        }

    def stop(self) -> None:
        stop_process(self._process, seconds=40)
        stop_process(self._epmd)
        shutil.rmtree(self._folder, ignore_errors=True)

    def details(self) -> dict[str, object]:
        return {"port": self._port, "kind": self._kind}

    def facts(self) -> dict[str, object]:
        versions = [path.name for path in (packages.FOLDER / "rabbitmq").glob("usr/lib/rabbitmq/lib/*")]
        return {"version": versions, "queue": self._kind, "messages": "persistent, confirmed"}

    def pss_bytes(self) -> dict[str, int | None]:
        return self.meter.pss_bytes()

    def disk_bytes(self) -> int | None:
        return bytes_below(self._folder)
