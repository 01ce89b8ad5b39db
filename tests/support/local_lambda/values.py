"""Resolves the intrinsic functions of CloudFormation that the templates of this repository use.

The module supports Ref and Fn::Sub of parameters, Fn::If with conditions of Fn::Equals, Fn::FindInMap, Fn::GetAtt (a
name, not an ARN) and Fn::ForEach. The source is the CloudFormation User Guide, "Intrinsic function reference". Any
other function raises TemplateError.
"""

import re
from collections.abc import Mapping
from typing import Any

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
    """The template uses a feature that this module does not implement."""


class Values:
    """Resolves values of one template. `parameters` replace its defaults."""

    def __init__(self, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        declared = template.get("Parameters", {})
        self._known = {
            **PSEUDO,
            **{name: each.get("Default") for name, each in declared.items()},
            **parameters,
        }
        self._conditions = template.get("Conditions", {})
        self._mappings = template.get("Mappings", {})

    def resolve(self, value: Any) -> Any:
        """Returns the value without intrinsic functions."""
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
    """Returns resources with each Fn::ForEach expanded."""
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
    """Returns the value with `${variable}` and `Ref` of the variable replaced."""
    if isinstance(value, str):
        return value.replace(f"${{{variable}}}", item)
    if isinstance(value, list):
        return [_substitute(each, variable, item) for each in value]
    if not isinstance(value, dict):
        return value
    if value == {"Ref": variable}:
        return item
    return {
        _substitute(key, variable, item): _substitute(each, variable, item) for key, each in value.items()
    }
