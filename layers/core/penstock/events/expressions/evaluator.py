"""Runs expressions in a process, so that no expression can take the memory, the time or the stack of the service."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from select import POLLIN, poll
from threading import Lock
from time import monotonic
from typing import Final
from weakref import finalize

import msgspec

from .protocol import MAX_MEMORY_MB, SECONDS, Job, Response, pack, split_frame

START_SECONDS: Final = 20.0
RESPONSE_SECONDS: Final = 2 * SECONDS
"""How long the evaluator waits for a response. Some steps of an evaluation do not look at the clock."""
TOO_LONG: Final = f"The expressions did not end within {SECONDS:g} second."
MEMORY_MB: Final = min(MAX_MEMORY_MB, int(os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1024")) // 4)
TOO_LARGE: Final = f"The expressions need more than {MEMORY_MB} MiB of memory, or too many nested calls."
MODULE: Final = "penstock.events.expressions.process"


class ExpressionsUnavailableError(Exception):
    """The process cannot start, for example because the package jlens is missing."""


class _StoppedError(Exception):
    """The process has ended or does not respond. The text is the reason."""


class Evaluator:
    """Starts its process with the first expression, and again after a process that an expression has ended. Any thread
    can call the methods, and the calls take turns."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], object] = int
        self._buffer = bytearray()
        self._responses = msgspec.msgpack.Decoder(Response)

    def find_fault(self, sources: Sequence[str]) -> Response | None:
        """Returns the first fault in the syntax of expressions. Raises ExpressionsUnavailableError."""
        with self._lock:
            try:
                self._send(Job(list(sources), []))
                response = self._read_response()
            except _StoppedError as error:
                self._close()
                response = Response(error=str(error))
        return None if response.error is None else response

    def evaluate(
        self, sources: Sequence[str], documents: Sequence[bytes], seconds: float, max_bytes: int
    ) -> list[Response]:
        """Returns a response for each document, from the first one. Later documents have none if the seconds of
        processor time or the bytes of the results are used up. Raises ExpressionsUnavailableError."""
        responses: list[Response] = []
        deadline = monotonic() + seconds
        with self._lock:
            while len(responses) < len(documents) and (left := deadline - monotonic()) > 0:
                try:
                    self._send(Job(list(sources), list(documents[len(responses) :]), left, max_bytes))
                    self._collect(responses, len(documents))
                    break
                except _StoppedError as error:
                    self._close()
                    responses.append(Response(error=str(error)))
        return responses

    def _collect(self, responses: list[Response], count: int) -> None:
        while len(responses) < count:
            response = self._read_response()
            if response.ended:
                return
            responses.append(response)

    # --- the process -------------------------------------------------------------------------------------------------
    def _send(self, job: Job) -> None:
        """Sends a job to the process, which reads a job completely before it responses."""
        process = self._process or self._start()
        assert process.stdin is not None  # noqa: S101 - a pipe
        data = memoryview(pack(job))
        try:
            while data:
                data = data[os.write(process.stdin.fileno(), data) :]
        except BrokenPipeError:
            raise _StoppedError(TOO_LARGE) from None

    def _start(self) -> "subprocess.Popen[bytes]":
        """Starts the process. It has no variable of the environment that could be secret."""
        paths = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PATH") if name in os.environ}
        try:
            process = subprocess.Popen(
                [sys.executable, "-S", "-m", MODULE, str(MEMORY_MB)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env={**paths, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"},
            )
        except OSError as error:
            raise ExpressionsUnavailableError(f"The process for expressions cannot start: {error}") from error
        self._process, self._end = process, finalize(self, _end_process, process)
        self._buffer.clear()
        try:
            self._read_frame(START_SECONDS)
        except _StoppedError:
            self._close()
            reason = "The process for expressions cannot start. Is the package jlens installed?"
            raise ExpressionsUnavailableError(reason) from None
        return process

    def _close(self) -> None:
        self._end()
        self._process = None

    def _read_response(self) -> Response:
        return self._responses.decode(self._read_frame(RESPONSE_SECONDS))

    def _read_frame(self, seconds: float) -> bytes:
        process = self._process
        assert process is not None  # noqa: S101 - the callers have started it
        assert process.stdout is not None  # noqa: S101 - a pipe
        deadline = monotonic() + seconds
        waiter = poll()
        waiter.register(process.stdout, POLLIN)
        while (frame := split_frame(self._buffer)) is None:
            if not waiter.poll(max(0.0, deadline - monotonic()) * 1000):
                raise _StoppedError(TOO_LONG)
            data = os.read(process.stdout.fileno(), 1 << 20)
            if not data:
                raise _StoppedError(TOO_LARGE)
            self._buffer += data
        return frame


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
