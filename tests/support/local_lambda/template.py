"""Reads a template that `sam build` wrote: functions, their routes and their schedules."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .balancer import CloudFormationLoader
from .limits import PACKAGE_BYTES
from .values import TemplateError, Values

FUNCTION, LAYER = "AWS::Serverless::Function", "AWS::Serverless::LayerVersion"
SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}
# The prefix of values that only CloudFormation can resolve.
DYNAMIC = "{{resolve:"
# The path of an event's route without a path ("HttpApi", AWS SAM Developer Guide).
DEFAULT_ROUTE = "$default"

_rate = re.compile(r"rate\((\d+) (minute|hour|day)s?\)").fullmatch


class Function(NamedTuple):
    """One function. If `reserved_concurrency` is None, the function shares the account's concurrency. `log_format` is
    Text or JSON. `log_level` is the level of a JSON log, or "" if the template does not set it.
    """

    name: str
    handler: str
    runtime: str
    code: Path
    layers: tuple[Path, ...]
    timeout_seconds: float
    memory_mib: int
    reserved_concurrency: int | None
    variables: Mapping[str, str]
    log_format: str = "Text"
    log_level: str = ""


class Route(NamedTuple):
    """A route of the HTTP API, such as GET /schedules/{name}. The path `$default` takes requests that no
    other route matches."""

    method: str
    path: str
    function: str


class Schedule(NamedTuple):
    """A function that is invoked at this interval in seconds."""

    function: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Stack:
    """The functions, routes and schedules of a template."""

    functions: Mapping[str, Function]
    routes: tuple[Route, ...]
    schedules: tuple[Schedule, ...]


def read_stack(build: Path, parameters: Mapping[str, str], variables: Mapping[str, str]) -> Stack:
    """Returns the stack in a folder of `sam build`. Each function gets `variables` besides those of the template.

    Raises TemplateError.
    """
    template = yaml.load((build / "template.yaml").read_text(), Loader=CloudFormationLoader)
    return Reader(template, build, parameters, variables).stack()


class Reader:
    """Reads one template."""

    def __init__(
        self,
        template: Mapping[str, Any],
        build: Path,
        parameters: Mapping[str, str],
        variables: Mapping[str, str],
    ) -> None:
        self._values = Values(template, parameters)
        self._build = build
        self._variables = variables
        self._resources: Mapping[str, Any] = template["Resources"]
        self._globals = template.get("Globals", {}).get("Function", {})

    def stack(self) -> Stack:
        functions = {name: self._function(name) for name in self._named(FUNCTION)}
        events = [(name, event) for name in functions for event in self._events(name)]
        routes = [
            Route(p.get("Method", "ANY"), p.get("Path", DEFAULT_ROUTE), name)
            for name, (kind, p) in events
            if kind == "HttpApi"
        ]
        schedules = [
            Schedule(name, rate_seconds(p["ScheduleExpression"]))
            for name, (kind, p) in events
            if kind == "ScheduleV2" and p.get("State") != "DISABLED"
        ]
        return Stack(functions, tuple(routes), tuple(schedules))

    def _named(self, kind: str) -> list[str]:
        return [name for name, resource in self._resources.items() if resource["Type"] == kind]

    def _function(self, name: str) -> Function:
        own = self._resources[name]["Properties"]
        properties = {**self._globals, **own}
        references = [*self._globals.get("Layers", []), *own.get("Layers", [])]
        layers = tuple(
            self._layer(each) for each in map(self._values.resolve, references) if each is not None
        )
        code = self._build / properties["CodeUri"]
        check_package_size(name, (code, *layers))
        logging = self._values.resolve(properties.get("LoggingConfig", {}))
        reserved_concurrency = self._values.resolve(properties.get("ReservedConcurrentExecutions"))
        return Function(
            name,
            properties["Handler"],
            str(self._values.resolve(properties["Runtime"])),
            code,
            layers,
            float(properties["Timeout"]),
            int(self._values.resolve(properties["MemorySize"])),
            None if reserved_concurrency is None else int(reserved_concurrency),
            {**self._environment(self._globals), **self._environment(own), **self._variables},
            logging.get("LogFormat", "Text"),
            logging.get("ApplicationLogLevel", ""),
        )

    def _layer(self, name: str) -> Path:
        layer = self._resources[name]
        if layer["Type"] != LAYER:
            raise TemplateError(f"{name} is no layer")
        return self._build / str(layer["Properties"]["ContentUri"])

    def _environment(self, properties: Mapping[str, Any]) -> dict[str, str]:
        given = properties.get("Environment", {}).get("Variables", {})
        values = {name: str(self._values.resolve(value)) for name, value in given.items()}
        return {name: value for name, value in values.items() if not value.startswith(DYNAMIC)}

    def _events(self, name: str) -> list[tuple[str, dict[str, Any]]]:
        events = self._resources[name]["Properties"].get("Events", {})
        return [(event["Type"], self._values.resolve(event["Properties"])) for event in events.values()]


def check_package_size(name: str, folders: Iterable[Path]) -> None:
    """Raises TemplateError if code and layers of a function are larger than Lambda accepts."""
    size = sum(map(content_bytes, folders))
    if size > PACKAGE_BYTES:
        raise TemplateError(f"{name} and its layers have {size} bytes, more than {PACKAGE_BYTES}")


@cache
def content_bytes(folder: Path) -> int:
    """Returns the size of all files in a folder. A link counts as a link, as in an archive."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def rate_seconds(expression: str) -> float:
    """Returns the seconds between two invocations. Raises TemplateError if the schedule is not a rate."""
    match = _rate(expression)
    if match is None:
        raise TemplateError(f"{expression} is no rate")
    return float(int(match[1]) * SECONDS[match[2]])
