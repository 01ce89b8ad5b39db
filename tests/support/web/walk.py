"""Records the functions that a running service calls for a request, until the response's bytes."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import msgspec
import pytest
import uvloop

import penstock
import penstock_web
from penstock.actions import load_operations
from penstock.environment import Environment
from penstock.postgres.statement import Statement
from penstock.settings import Settings
from penstock_web import server
from penstock_web.http.connection import HttpConnection
from tests.support.database import Database

_LAYERS = Path(penstock.__file__).parents[2]
_ROOTS = tuple(str(Path(package.__file__ or "").parent) for package in (penstock, penstock_web))
_DEPTH = 8


class Function(NamedTuple):
    """Names a function or method below layers/."""

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.name}"


@dataclass
class Walk:
    """Records the functions that were called during one request, in order. The record includes the event loop's other
    work.

    `carriers` are the functions whose arguments contained one of `texts`. `statements` are the statements in any
    function's arguments.
    """

    texts: tuple[bytes, ...]
    functions: dict[Function, None] = field(default_factory=dict)
    carriers: dict[Function, None] = field(default_factory=dict)
    statements: list[Statement[Any]] = field(default_factory=list)

    def enter(self, frame: FrameType) -> None:
        """Notes a call."""
        code = frame.f_code
        function = Function(str(Path(code.co_filename).relative_to(_LAYERS)), code.co_firstlineno, code.co_name)
        self.functions[function] = None
        count = code.co_argcount + code.co_kwonlyargcount
        arguments = [frame.f_locals.get(name) for name in code.co_varnames[:count] if name != "self"]
        self.statements += [argument for argument in arguments if isinstance(argument, Statement)]
        if any(holds(argument, self.texts) for argument in arguments):
            self.carriers[function] = None


def holds(value: object, texts: tuple[bytes, ...], depth: int = _DEPTH) -> bool:
    if isinstance(value, str):
        value = value.encode(errors="replace")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return any(text in bytes(value) for text in texts)
    if depth == 0:
        return False
    return any(holds(part, texts, depth - 1) for part in _parts(value))


def _parts(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if isinstance(value, msgspec.Struct):
        return [getattr(value, name) for name in value.__struct_fields__]
    if isinstance(value, asyncio.Future):
        return [value.result()] if value.done() and not value.cancelled() and not value.exception() else []
    return []


class Recorder:
    """Records walks in a thread. `expected` identifies the next request that the service reads."""

    def __init__(self) -> None:
        self.expected: tuple[bytes, ...] = ()
        self.walks: list[Walk] = []
        self._walk: Walk | None = None

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Implements a profiler for `sys.setprofile`."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(_ROOTS):
            return
        if self._walk is None and self.expected and code.co_name == "data_received":
            self._walk, self.expected = Walk(self.expected), ()
        if self._walk is not None:
            self._walk.enter(frame)

    def has_called(self, statement: Statement[Any]) -> bool:
        """Returns whether the recorded request has called the database with the given statement."""
        return self._walk is not None and statement in self._walk.statements

    def end(self) -> None:
        """Ends the walk, because the service writes the response."""
        if self._walk is not None:
            self.walks.append(self._walk)
            self._walk = None


class _RecordedTransport:
    """Tells the recorder about the first write."""

    def __init__(self, transport: Any, recorder: Recorder) -> None:
        self._transport = transport
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._recorder.end()
        self._transport.write(data)


@contextmanager
def recorded_service(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Recorder]]:
    """Runs the service in a thread without access control. Yields its address and the recorder of its requests."""
    settings = Settings.read({"DATABASE_URL": database.api_dsn, "DATABASE_DIRECT_URL": database.api_dsn})
    environment = Environment(settings, server.load_receipts(settings))
    load_operations()
    recorder = Recorder()
    connection_made = HttpConnection.connection_made

    def recorded(connection: HttpConnection, transport: Any) -> None:
        connection_made(connection, _RecordedTransport(transport, recorder))  # type: ignore[arg-type]

    monkeypatch.setattr(HttpConnection, "connection_made", recorded)
    listener = server.open_listening_socket("127.0.0.1", 0, reuse_port=False)
    ends: list[Callable[[], object]] = []
    ready = threading.Event()

    async def serve() -> None:
        loop, signals = asyncio.get_running_loop(), server.StopSignals()
        monkeypatch.setattr(server, "StopSignals", lambda: signals)  # A thread does not receive the process's signals.
        ends.append(lambda: loop.call_soon_threadsafe(signals.stop.set))
        loop.call_soon(sys.setprofile, recorder.profile)
        await server.run(environment, listener, ready.set)
        sys.setprofile(None)

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert ready.wait(30)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", recorder
    finally:
        ends[0]()
        thread.join(30)
