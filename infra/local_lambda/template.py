"""Reads a template that `sam build` wrote: functions, their routes and their schedules."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .balancer import CloudFormationLoader
from .values import TemplateError, Values

FUNCTION, LAYER = "AWS::Serverless::Function", "AWS::Serverless::LayerVersion"
SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}
# The prefix of values that only CloudFormation can resolve.
DYNAMIC = "{{resolve:"

_rate = re.compile(r"rate\((\d+) (minute|hour|day)s?\)").fullmatch


class Function(NamedTuple):
    """One function. `reserved_concurrency` None: it shares the account's concurrency."""

    name: str
    handler: str
    runtime: str
    code: Path
    layers: tuple[Path, ...]
    timeout_seconds: float
    memory_mib: int
    reserved_concurrency: int | None
    variables: Mapping[str, str]


class Route(NamedTuple):
    """A route of the HTTP API, such as POST /{account}/{queue}."""

    method: str
    path: str
    function: str


class Schedule(NamedTuple):
    """A function that is invoked every so many seconds."""

    function: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Stack:
    """The functions, routes and schedules of a template."""

    functions: Mapping[str, Function]
    routes: tuple[Route, ...]
    schedules: tuple[Schedule, ...]


def read_stack(build: Path, parameters: Mapping[str, str], variables: Mapping[str, str]) -> Stack:
    """The stack in a folder of `sam build`. Each function gets `variables` besides those of the template.

    Raises TemplateError.
    """
    template = yaml.load((build / "template.yaml").read_text(), Loader=CloudFormationLoader)  # noqa: S506 - a SafeLoader
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
        routes = [Route(p["Method"], p["Path"], name) for name, (kind, p) in events if kind == "HttpApi"]
        schedules = [
            Schedule(name, rate_seconds(p["ScheduleExpression"]))
            for name, (kind, p) in events
            if kind == "ScheduleV2"
        ]
        return Stack(functions, tuple(routes), tuple(schedules))

    def _named(self, kind: str) -> list[str]:
        return [name for name, resource in self._resources.items() if resource["Type"] == kind]

    def _function(self, name: str) -> Function:
        own = self._resources[name]["Properties"]
        properties = {**self._globals, **own}
        layers = [*self._globals.get("Layers", []), *own.get("Layers", [])]
        reserved_concurrency = self._values.resolve(properties.get("ReservedConcurrentExecutions"))
        return Function(
            name,
            properties["Handler"],
            str(self._values.resolve(properties["Runtime"])),
            self._build / properties["CodeUri"],
            tuple(self._layer(layer) for layer in map(self._values.resolve, layers) if layer is not None),
            float(properties["Timeout"]),
            int(properties["MemorySize"]),
            None if reserved_concurrency is None else int(reserved_concurrency),
            {**self._environment(self._globals), **self._environment(own), **self._variables},
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


def rate_seconds(expression: str) -> float:
    """Seconds between two invocations. Raises TemplateError for anything but a rate."""
    match = _rate(expression)
    if match is None:
        raise TemplateError(f"{expression} is no rate")
    return float(int(match[1]) * SECONDS[match[2]])
