"""Runs execution environments and the Lambda Runtime API.

An execution environment is a process of awslambdaric, which serves one invocation at a time. As on Lambda, the
process's working folder is the code, and its path contains the layers. The process has the environment variables in the
Lambda Developer Guide ("Using Lambda environment variables", "Defined runtime"). The process is frozen between
invocations: no thread or timer runs ("Understanding the Lambda execution environment lifecycle",
https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html).

As on Lambda, the process can write only to /tmp (same page). The process has a separate mount namespace, in which every
file system is read-only and /tmp is a new, empty file system of 512 MB. The isolation needs Linux 5.12, and root or a
machine on which users may create namespaces. On other machines functions can write everywhere, but write no bytecode,
and the module logs a warning.

The processes receive invocations from the Runtime API, and post the results to the Runtime API ("Using the Lambda
runtime API for custom runtimes", Lambda Developer Guide). Each environment's number is the prefix of its paths.
"""

import asyncio
import logging
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import time
from typing import Final, NamedTuple
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.local_lambda.limits import INVOCATION_BYTES, FunctionError, ResultTooLargeError
from tests.support.local_lambda.template import Function

_SCRIPT: Final = Path(__file__).with_name("mount_read_only.py")

_log = logging.getLogger(__name__)


@cache
def is_possible(python: Path) -> bool:
    """Returns whether the current user can start isolated processes on this machine. Logs the reason if the user
    cannot.
    """
    command = [*_command(python, []), "/bin/sh", "-c", ":"]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().rpartition("\n")[2]
        _log.warning("functions can write everywhere on this machine, not only to /tmp: %s", reason)
    return done.returncode == 0


def command_prefix(python: Path, keep: Sequence[Path]) -> list[str | Path]:
    """Returns the prefix of a command for an isolated process. `keep` lists folders below /tmp that the process
    needs.
    """
    return _command(python, keep) if is_possible(python) else []


def _command(python: Path, keep: Sequence[Path]) -> list[str | Path]:
    return [python, "-I", "-S", _SCRIPT, ":".join(map(str, keep))]


ROOT = Path(__file__).parents[3]
REGION = "us-east-1"
SECOND_MS = 1000
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Invocation(NamedTuple):
    """Contains an event for a process, and the future result. `deadline_ms` is in milliseconds since 1970."""

    request_id: str
    event: bytes
    deadline_ms: int
    response: "asyncio.Future[bytes]"


class ExecutionEnvironment:
    """Runs a function in a process, which requests invocations from the Runtime API at `api`."""

    def __init__(self, function: Function, number: int, api: str, python: Path) -> None:
        self.function = function
        self.number = number
        self._api = f"{api}/{number}"
        self._python = python
        self._invocations: asyncio.Queue[Invocation] = asyncio.Queue()
        self._process: asyncio.subprocess.Process | None = None
        self._exit_task: asyncio.Task[None] | None = None
        self.current: Invocation | None = None
        self.invocations = 0

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Starts the process, which loads the handler and requests an invocation."""
        keep = (ROOT, self.function.code, *self.function.layers)
        variables = process_variables(self.function, self._api)
        if not is_possible(self._python):
            variables["PYTHONDONTWRITEBYTECODE"] = "1"
        self._process = await asyncio.create_subprocess_exec(
            *command_prefix(self._python, keep),
            self._python,
            "-m",
            "awslambdaric",
            self.function.handler,
            cwd=self.function.code,
            env=variables,
            start_new_session=True,  # Ctrl-C reaches only the gateway, which then ends the processes.
        )
        self._exit_task = asyncio.get_running_loop().create_task(self._watch_exit(self._process))

    async def stop(self) -> None:
        """Kills the process, because Lambda discards environments without notice."""
        if self._process is not None and self._exit_task is not None:
            if self._process.returncode is None:
                self._process.kill()
            await self._exit_task

    async def invoke(self, event: bytes) -> bytes:
        """Returns the function's result. Raises FunctionError. The process ends if the time, the memory or the result
        exceeds its limit.
        """
        seconds = self.function.timeout_seconds
        deadline_ms = int((time() + seconds) * SECOND_MS)
        response: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.current = Invocation(str(uuid4()), event, deadline_ms, response)
        self._invocations.put_nowait(self.current)
        self.invocations += 1
        self._signal(signal.SIGCONT)
        try:
            response_bytes = await asyncio.wait_for(response, seconds)
        except TimeoutError:
            await self.stop()
            raise FunctionError(f"{self.function.name} timed out after {seconds:g} seconds") from None
        except ResultTooLargeError:
            await self.stop()
            raise
        finally:
            self.current = None
        if self.memory_mib() > self.function.memory_mib:
            await self.stop()
            raise FunctionError(f"{self.function.name} used more than {self.function.memory_mib} MB")
        return response_bytes

    async def next(self) -> Invocation:
        """Returns the next invocation for the process. The process is frozen until the next invocation."""
        if self._invocations.empty():
            self._signal(signal.SIGSTOP)
        return await self._invocations.get()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def memory_mib(self) -> float:
        """Returns the process's resident memory."""
        if self._process is None or not self.is_alive:
            return 0.0
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * PAGE_BYTES / 2**20

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_alive:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _watch_exit(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        if self.current is not None and not self.current.response.done():
            self.current.response.set_exception(FunctionError(f"{self.function.name}: its process ended ({code})"))


def process_variables(function: Function, api: str) -> dict[str, str]:
    """Returns the process's environment variables. The process inherits only PATH."""
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
        "AWS_LAMBDA_LOG_FORMAT": function.log_format,
        "AWS_REGION": REGION,
        **({"AWS_LAMBDA_LOG_LEVEL": function.log_level} if function.log_level else {}),
        **function.variables,
    }


VERSION = "2018-06-01"
ACCEPTED, TOO_LARGE = 202, 413


class RuntimeApi:
    """Serves the Runtime API to all environments. `environments` maps numbers to running environments."""

    def __init__(self) -> None:
        self.environments: dict[int, ExecutionEnvironment] = {}
        prefix = f"/{{number:int}}/{VERSION}/runtime"
        self.app = Starlette(
            routes=[
                Route(f"{prefix}/invocation/next", self.next),
                Route(f"{prefix}/invocation/{{request_id}}/response", self.response, methods=["POST"]),
                Route(f"{prefix}/invocation/{{request_id}}/error", self.error, methods=["POST"]),
                Route(f"{prefix}/init/error", self.init_error, methods=["POST"]),
            ]
        )

    async def next(self, request: Request) -> Response:
        """Waits for an invocation, and returns the invocation to the process."""
        environment = self._environment(request)
        invocation = await environment.next()
        name = environment.function.name
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": f"arn:aws:lambda:{REGION}:000000000000:function:{name}",
        }
        return Response(invocation.event, media_type="application/json", headers=headers)

    async def response(self, request: Request) -> Response:
        """Takes an invocation's result. The Runtime API ignores a late result, and refuses a result that is too
        large.
        """
        invocation = self._invocation(request)
        body = await request.body()
        if len(body) > INVOCATION_BYTES:
            text = f"the result has {len(body)} bytes, more than {INVOCATION_BYTES}"
            if invocation is not None:
                invocation.response.set_exception(ResultTooLargeError(f"Function.ResponseSizeTooLarge: {text}"))
            return Response(text, status_code=TOO_LARGE)
        if invocation is not None:
            invocation.response.set_result(body)
        return Response(status_code=ACCEPTED)

    async def error(self, request: Request) -> Response:
        """Takes the error that the handler raised."""
        invocation = self._invocation(request)
        body = await request.body()
        if invocation is not None:
            invocation.response.set_exception(FunctionError(body.decode()))
        return Response(status_code=ACCEPTED)

    async def init_error(self, request: Request) -> Response:
        """Takes the error of a handler that failed to load. The function's process then exits."""
        environment = self._environment(request)
        body = await request.body()
        if environment.current is not None and not environment.current.response.done():
            environment.current.response.set_exception(FunctionError(body.decode()))
        return Response(status_code=ACCEPTED)

    def _environment(self, request: Request) -> ExecutionEnvironment:
        return self.environments[request.path_params["number"]]

    def _invocation(self, request: Request) -> Invocation | None:
        current = self._environment(request).current
        if current is None or current.request_id != request.path_params["request_id"] or current.response.done():
            return None
        return current
