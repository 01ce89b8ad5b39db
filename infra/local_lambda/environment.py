"""An execution environment: one process of awslambdaric, which answers one invocation at a time.

The process starts as on Lambda: its working folder is the code, layers are on its path, and it has the environment
variables that the Lambda Developer Guide lists ("Using Lambda environment variables", "Defined runtime").
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from time import time
from typing import NamedTuple
from uuid import uuid4

from .template import Function

REGION = "us-east-1"
SECOND_MS = 1000
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class FunctionError(Exception):
    """The function raised an error, exceeded its time or memory, or its process ended."""


class Invocation(NamedTuple):
    """An event for a process, and the future of its result. `deadline_ms`: milliseconds since 1970."""

    request_id: str
    event: bytes
    deadline_ms: int
    answer: "asyncio.Future[bytes]"


class ExecutionEnvironment:
    """A process of `function`. It requests invocations from the Runtime API at `api`."""

    def __init__(self, function: Function, number: int, api: str, python: Path) -> None:
        self.function = function
        self.number = number
        self._api = f"{api}/{number}"
        self._python = python
        self._invocations: asyncio.Queue[Invocation] = asyncio.Queue()
        self._process: asyncio.subprocess.Process | None = None
        self._exit_task: asyncio.Task[None] | None = None
        self.current: Invocation | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it can be invoked."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Starts the process, which loads the handler and requests an invocation."""
        self._process = await asyncio.create_subprocess_exec(
            self._python,
            "-m",
            "awslambdaric",
            self.function.handler,
            cwd=self.function.code,
            env=process_variables(self.function, self._api),
            start_new_session=True,  # only the gateway gets Ctrl-C; it ends the processes
        )
        self._exit_task = asyncio.get_running_loop().create_task(self._watch_exit(self._process))

    async def stop(self) -> None:
        """Kills the process, as Lambda discards environments without notice."""
        if self._process is not None and self._exit_task is not None:
            if self._process.returncode is None:
                self._process.kill()
            await self._exit_task

    async def invoke(self, event: bytes) -> bytes:
        """The function's result. Raises FunctionError; a timeout or too much memory also ends the process."""
        seconds = self.function.timeout_seconds
        deadline_ms = int((time() + seconds) * SECOND_MS)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.current = Invocation(str(uuid4()), event, deadline_ms, answer)
        self._invocations.put_nowait(self.current)
        try:
            answer_bytes = await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            await self.stop()
            raise FunctionError(f"{self.function.name} timed out after {seconds:g} seconds") from None
        finally:
            self.current = None
        if self.memory_mib() > self.function.memory_mib:
            await self.stop()
            raise FunctionError(f"{self.function.name} used more than {self.function.memory_mib} MB")
        return answer_bytes

    async def next(self) -> Invocation:
        """Waits for the next invocation, which the process has requested."""
        return await self._invocations.get()

    def memory_mib(self) -> float:
        """Resident memory of the process."""
        if self._process is None or not self.is_alive:
            return 0.0
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * PAGE_BYTES / 2**20

    async def _watch_exit(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        if self.current is not None and not self.current.answer.done():
            self.current.answer.set_exception(
                FunctionError(f"{self.function.name}: its process ended ({code})")
            )


def process_variables(function: Function, api: str) -> Mapping[str, str]:
    """The environment variables of the process; of the gateway's own it gets only PATH."""
    return {
        "PATH": os.environ["PATH"],
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PYTHONPATH": ":".join(str(layer / "python") for layer in function.layers),
        "LAMBDA_TASK_ROOT": str(function.code),
        "_HANDLER": function.handler,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{function.runtime}",
        "AWS_LAMBDA_RUNTIME_API": api,
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mib),
        "AWS_LAMBDA_LOG_FORMAT": "JSON",
        "AWS_REGION": REGION,
        **function.variables,
    }
