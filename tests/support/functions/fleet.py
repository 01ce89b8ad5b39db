"""Functions of a test, or those of this checkout, in real processes of awslambdaric."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.functions.server import ROOT
from tests.support.local_lambda.__main__ import serving
from tests.support.local_lambda.fleet import Fleet
from tests.support.local_lambda.idle_network import HOST
from tests.support.local_lambda.runtime_api import RuntimeApi
from tests.support.local_lambda.template import Function, read_stack
from tests.support.programs.local_lambda import from_sources

PYTHON = ROOT / ".tools/lambda/bin/python"


def function(
    code: Path, name: str, seconds: float = 30, memory: int = 512, most: int | None = None
) -> Function:
    """The function `name` of function.py in the folder `code`, with the layer that is in there."""
    handler = f"function.{name}"
    return Function(
        name, handler, "python3.12", code, (code / "layer",), seconds, memory, most, {"VARIABLE": "given"}
    )


@asynccontextmanager
async def running(*functions: Function, most: int = 4, recycle_after: int = 0) -> AsyncIterator[Fleet]:
    """These functions can be invoked."""
    runtime_api = RuntimeApi()
    async with serving(runtime_api.app, 0) as port:
        known = {f.name: f for f in functions}
        fleet = Fleet(known, runtime_api, f"{HOST}:{port}", PYTHON, most, recycle_after)
        try:
            yield fleet
        finally:
            await fleet.close()


@asynccontextmanager
async def running_stack(
    folder: Path, parameters: Mapping[str, str], variables: Mapping[str, str], *names: str
) -> AsyncIterator[Fleet]:
    """These functions of template.yaml with these parameters can be invoked. `folder`: an empty one, for the build."""
    stack = read_stack(from_sources(folder), {"Access": "off", **parameters}, variables)
    async with running(*(stack.functions[name] for name in names)) as fleet:
        yield fleet
