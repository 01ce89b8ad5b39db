"""Reads the template that `sam build` wrote (functions, routes, schedules), and the load balancer's rules.

The module resolves the CloudFormation functions in this repository's templates: Ref and Fn::Sub of parameters, Fn::If
with Fn::Equals, Fn::FindInMap, Fn::GetAtt (a name, not an ARN) and Fn::ForEach. The source is "Intrinsic function
reference" (CloudFormation User Guide). Any other function raises TemplateError.

The rules in infra/alb/template.yaml choose the function for a request.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.support.local_lambda.events import Request
from tests.support.local_lambda.limits import PACKAGE_BYTES

PSEUDO = {
    "AWS::Region": "us-east-1",
    "AWS::AccountId": "000000000000",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::StackName": "penstock",
    "AWS::NoValue": None,
}

_NAMED = re.compile(r"\$\{([A-Za-z0-9:]+)\}")


class TemplateError(ValueError):
    """The template uses a feature that the module does not implement."""


class Values:
    """Resolves values in one template. `parameters` override the template's defaults."""

    def __init__(self, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        declared = template.get("Parameters", {})
        self._known = {**PSEUDO, **{name: each.get("Default") for name, each in declared.items()}, **parameters}
        self._conditions = template.get("Conditions", {})
        self._mappings = template.get("Mappings", {})

    def resolve(self, value: Any) -> Any:
        """Returns the value with all intrinsic functions resolved."""
        if isinstance(value, list):
            return [self.resolve(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Ref" or name.startswith("Fn::"):
                return self._call(name, argument)
        return {key: self.resolve(item) for key, item in value.items()}

    def _call(self, name: str, argument: Any) -> Any:
        match name:
            case "Ref":
                return self._known.get(argument, argument)
            case "Fn::Sub" if isinstance(argument, str):
                return _NAMED.sub(lambda found: str(self._known.get(found[1], found[0])), argument)
            case "Fn::GetAtt":
                return ".".join(argument) if isinstance(argument, list) else argument
            case "Fn::If":
                condition, then, otherwise = argument
                return self.resolve(then if self._holds(condition) else otherwise)
            case "Fn::FindInMap":
                mapping, first, second = (self.resolve(each) for each in argument)
                return self._mappings[mapping][first][second]
        raise TemplateError(f"{name} is not understood here")

    def _holds(self, condition: str) -> bool:
        ((name, operands),) = self._conditions[condition].items()
        if name != "Fn::Equals":
            raise TemplateError(f"{name} is not understood in a condition")
        left, right = (self.resolve(operand) for operand in operands)
        return str(left) == str(right)


def expand_for_each(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the resources with each Fn::ForEach expanded."""
    found: dict[str, Any] = {}
    for name, resource in resources.items():
        if not name.startswith("Fn::ForEach::"):
            found[name] = resource
            continue
        variable, items, outputs = resource
        for item in items:
            found |= expand_for_each(_substitute(outputs, variable, item))
    return found


def _substitute(value: Any, variable: str, item: str) -> Any:
    """Replaces `${variable}` and `Ref` of the variable."""
    if isinstance(value, str):
        return value.replace(f"${{{variable}}}", item)
    if isinstance(value, list):
        return [_substitute(each, variable, item) for each in value]
    if not isinstance(value, dict):
        return value
    if value == {"Ref": variable}:
        return item
    return {_substitute(key, variable, item): _substitute(each, variable, item) for key, each in value.items()}


RULE, GROUP, LISTENER = (f"AWS::ElasticLoadBalancingV2::{kind}" for kind in ("ListenerRule", "TargetGroup", "Listener"))


class Rule(NamedTuple):
    """Contains conditions that must all match: patterns for a header's value, patterns for the path, and methods.

    An empty condition always matches.
    """

    priority: int
    function: str
    header: str
    values: tuple[str, ...]
    paths: tuple[str, ...]
    methods: tuple[str, ...]

    def matches(self, request: Request) -> bool:
        """Returns whether all conditions match. As on AWS, header values are case-insensitive, but paths are
        case-sensitive.
        """
        header_value = request.header(self.header.lower()).lower()
        return (
            (not self.values or any(fnmatchcase(header_value, value.lower()) for value in self.values))
            and (not self.paths or any(fnmatchcase(request.path, path) for path in self.paths))
            and (not self.methods or request.method in self.methods)
        )


def read_balancer(template: Path) -> tuple[list[Rule], str]:
    """Returns the rules by priority, and the function for requests that match no rule. Raises TemplateError."""
    read = yaml.load(template.read_text(), Loader=CloudFormationLoader)
    values = Values(read, {})
    resources = expand_for_each(read["Resources"])
    targets = {
        name: function_of(values, resource["Properties"])
        for name, resource in resources.items()
        if resource["Type"] == GROUP
    }
    rules = [
        rule_of(values, resource["Properties"], targets) for resource in resources.values() if resource["Type"] == RULE
    ]
    (default,) = (r["Properties"]["DefaultActions"] for r in resources.values() if r["Type"] == LISTENER)
    return sorted(rules), targets[target_group(values, default)]


def rule_of(values: Values, properties: Mapping[str, Any], targets: Mapping[str, str]) -> Rule:
    header, header_values, paths, methods = "", (), (), ()
    for condition in values.resolve(properties["Conditions"]):
        match condition["Field"]:
            case "http-header":
                header = condition["HttpHeaderConfig"]["HttpHeaderName"]
                header_values = tuple(condition["HttpHeaderConfig"]["Values"])
            case "path-pattern":
                paths = tuple(condition["PathPatternConfig"]["Values"])
            case "http-request-method":
                methods = tuple(condition["HttpRequestMethodConfig"]["Values"])
            case field:
                raise TemplateError(f"conditions of {field} are not supported")
    function = targets[target_group(values, properties["Actions"])]
    return Rule(int(values.resolve(properties["Priority"])), function, header, header_values, paths, methods)


def target_group(values: Values, actions: Any) -> str:
    (action,) = actions
    return str(values.resolve(action["TargetGroupArn"]["Ref"]))


def function_of(values: Values, properties: Mapping[str, Any]) -> str:
    """Returns the function's name, which follows the stack's name in the ARN of the only target."""
    (target,) = properties["Targets"]
    return str(values.resolve(target["Id"])).rpartition(":")[2].partition("-")[2]


class CloudFormationLoader(yaml.CSafeLoader):
    """Loads YAML with CloudFormation's short forms: `!Ref x` becomes {"Ref": x}, and `!Sub x` becomes {"Fn::Sub":
    x}.
    """


def _short_form(loader: CloudFormationLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
        return {name: value.split(".") if suffix == "GetAtt" else value}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    raise TemplateError(f"!{suffix} is not understood here")


CloudFormationLoader.add_multi_constructor("!", _short_form)


FUNCTION, LAYER = "AWS::Serverless::Function", "AWS::Serverless::LayerVersion"
SECONDS = {"minute": 60, "hour": 3600, "day": 86_400}
# Only CloudFormation can resolve values with this prefix.
DYNAMIC = "{{resolve:"
# The path of a route whose event has no path ("HttpApi", AWS SAM Developer Guide).
DEFAULT_ROUTE = "$default"

_rate = re.compile(r"rate\((\d+) (minute|hour|day)s?\)").fullmatch


class Function(NamedTuple):
    """A function. Without `reserved_concurrency`, the function shares the account's concurrency. `log_format` is Text
    or JSON. `log_level` is the level of a JSON log, or "" if the template does not set it.
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
    """Describes a route of the HTTP API, such as GET /schedules/{name}. The path `$default` matches requests that match
    no other route.
    """

    method: str
    path: str
    function: str


class Schedule(NamedTuple):
    function: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Stack:
    functions: Mapping[str, Function]
    routes: tuple[Route, ...]
    schedules: tuple[Schedule, ...]


def read_stack(build: Path, parameters: Mapping[str, str], variables: Mapping[str, str]) -> Stack:
    """Returns the stack in a folder that `sam build` wrote. Each function receives `variables` in addition to the
    template's variables.

    Raises TemplateError.
    """
    template = yaml.load((build / "template.yaml").read_text(), Loader=CloudFormationLoader)
    return Reader(template, build, parameters, variables).stack()


class Reader:
    def __init__(
        self, template: Mapping[str, Any], build: Path, parameters: Mapping[str, str], variables: Mapping[str, str]
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
        layers = tuple(self._layer(each) for each in map(self._values.resolve, references) if each is not None)
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
    """Raises TemplateError if a function's code and layers exceed Lambda's limit."""
    size = sum(map(content_bytes, folders))
    if size > PACKAGE_BYTES:
        raise TemplateError(f"{name} and its layers have {size} bytes, more than {PACKAGE_BYTES}")


@cache
def content_bytes(folder: Path) -> int:
    """Returns the size of all files in a folder. A link counts with its own size instead of its target's size, as in an
    archive.
    """
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def rate_seconds(expression: str) -> float:
    """Returns the seconds between two invocations. Raises TemplateError if the schedule is not a rate."""
    match = _rate(expression)
    if match is None:
        raise TemplateError(f"{expression} is no rate")
    return float(int(match[1]) * SECONDS[match[2]])
