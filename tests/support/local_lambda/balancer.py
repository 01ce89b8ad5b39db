"""Reads the load balancer's rules in infra/alb/template.yaml, which choose the function for a request."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .events import Request
from .values import TemplateError, Values, expand_for_each

RULE, GROUP, LISTENER = (
    f"AWS::ElasticLoadBalancingV2::{kind}" for kind in ("ListenerRule", "TargetGroup", "Listener")
)


class Rule(NamedTuple):
    """Conditions that must all match: patterns of a header's value, patterns of the path, and methods.

    An empty condition always matches.
    """

    priority: int
    function: str
    header: str
    values: tuple[str, ...]
    paths: tuple[str, ...]
    methods: tuple[str, ...]

    def matches(self, request: Request) -> bool:
        """Returns whether all conditions match. As in AWS, header values are compared without regard to case, and paths
        with it."""
        header_value = request.header(self.header.lower()).lower()
        return (
            (not self.values or any(fnmatchcase(header_value, value.lower()) for value in self.values))
            and (not self.paths or any(fnmatchcase(request.path, path) for path in self.paths))
            and (not self.methods or request.method in self.methods)
        )


def read_balancer(template: Path) -> tuple[list[Rule], str]:
    """Returns the rules by priority, and the function for requests that match none. Raises TemplateError."""
    read = yaml.load(template.read_text(), Loader=CloudFormationLoader)
    values = Values(read, {})
    resources = expand_for_each(read["Resources"])
    targets = {
        name: function_of(values, resource["Properties"])
        for name, resource in resources.items()
        if resource["Type"] == GROUP
    }
    rules = [
        rule_of(values, resource["Properties"], targets)
        for resource in resources.values()
        if resource["Type"] == RULE
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
                raise TemplateError(f"conditions of {field} are not understood here")
    function = targets[target_group(values, properties["Actions"])]
    return Rule(int(values.resolve(properties["Priority"])), function, header, header_values, paths, methods)


def target_group(values: Values, actions: Any) -> str:
    """Returns the name of the target group to which the only action forwards."""
    (action,) = actions
    return str(values.resolve(action["TargetGroupArn"]["Ref"]))


def function_of(values: Values, properties: Mapping[str, Any]) -> str:
    """Returns the function's name, which follows the stack's name in the ARN of the only target."""
    (target,) = properties["Targets"]
    return str(values.resolve(target["Id"])).rpartition(":")[2].partition("-")[2]


class CloudFormationLoader(yaml.SafeLoader):
    """Loads YAML with CloudFormation's short forms: `!Ref x` becomes {"Ref": x}, `!Sub x` {"Fn::Sub": x}."""


def _short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
        return {name: value.split(".") if suffix == "GetAtt" else value}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    raise TemplateError(f"!{suffix} is not understood here")


CloudFormationLoader.add_multi_constructor("!", _short_form)
