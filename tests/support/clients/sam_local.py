"""Runs `sam local start-api` with the gateway and the REST function in Docker containers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from penstock_web.local.postgres import free_port
from tests.support.clients.service_client import ROOT

SAM = ROOT / ".tools/python/bin/sam"
BRIDGE = ["docker", "network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}"]


def bridge() -> str:
    """Returns this machine's address for containers."""
    return subprocess.run(BRIDGE, capture_output=True, text=True, check=True).stdout.strip()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
        await target.drain()
    target.close()


@contextmanager
def relay(host: str, port: int) -> Iterator[int]:
    """Forwards a port of `host` to `port` of 127.0.0.1, because PgBouncer listens only there."""
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, there = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_copy(reader, there), _copy(back, writer), return_exceptions=True)

    async def serve() -> None:
        server, ended = await asyncio.start_server(accept, host, 0), asyncio.Event()
        ready.set_result((asyncio.get_running_loop(), ended, server.sockets[0].getsockname()[1]))
        await ended.wait()
        server.close()

    thread = Thread(target=asyncio.run, args=[serve()])
    thread.start()
    loop, ended, listening = ready.result(10)
    try:
        yield listening
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


@contextmanager
def running_sam(dsn: str) -> Iterator[str]:
    """Yields SAM's address. `dsn` connects to the database through PgBouncer. SAM uses images that are already
    present.
    """
    host, parts = bridge(), urlsplit(dsn)
    port = free_port()
    with relay(host, parts.port or 5432) as reached, tempfile.TemporaryDirectory() as folder:
        variables = Path(folder) / "env.json"
        seen = parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@{host}:{reached}").geturl()
        variables.write_text(json.dumps({"Parameters": {"DATABASE_URL": seen}}))
        runtime = f"python{sys.version_info.major}.{sys.version_info.minor}"
        with subprocess.Popen(
            [
                SAM, "local", "start-api", "--port", str(port), "--warm-containers", "LAZY", "--skip-pull-image",
                "--env-vars", variables, "--parameter-overrides",
                f"Access=off Runtime={runtime} Architecture=x86_64",
            ],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "AWS_DEFAULT_REGION": "us-east-1"},
        ) as process:  # fmt: skip
            assert process.stderr is not None
            try:
                assert any("Running on" in line for line in process.stderr), "sam local did not start"
                # A full pipe would stop SAM.
                reader = Thread(target=deque, args=(process.stderr, 0))
                reader.start()
                try:
                    yield f"http://127.0.0.1:{port}"
                finally:
                    process.terminate()
                    reader.join()
            finally:
                process.terminate()
