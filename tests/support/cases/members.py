"""Reads the members of an action's request with the traits in botocore's model, and makes values that break each
trait."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.support.conformance.sdk_clients import service_model

MOST_DEPTH = 3


class Member(NamedTuple):
    """`path` is a path of case.changed. `shown` is the path in AWS's texts: `Tags/0/Key` and `tags.1.member.key`.

    `where` is uri or querystring of REST-JSON. `parent_required` says whether the structure around the member is
    always present.
    """

    path: str
    shown: str
    shape: Any
    required: bool
    where: str

    @property
    def kind(self) -> str:
        return str(self.shape.type_name)

    def trait(self, name: str) -> Any:
        return self.shape.metadata.get(name)

    @property
    def enum(self) -> list[str]:
        return list(getattr(self.shape, "enum", None) or ())


def members_of(service: str, action: str, *, without: frozenset[str] = frozenset()) -> Iterator[Member]:
    """Yields the members of an action's request and of the structures in it. `without` has names that are left out."""
    protocol = {"sqs": "json", "sns": "query", "scheduler": "rest-json"}[service]
    shape = service_model(protocol, service).operation_model(action).input_shape
    if shape is not None:
        yield from _of_structure(shape, "", "", without, MOST_DEPTH)


def _of_structure(shape: Any, path: str, shown: str, without: frozenset[str], depth: int) -> Iterator[Member]:
    for name, member in shape.members.items():
        if name in without:
            continue
        at, told = f"{path}{name}", f"{shown}{name[:1].lower()}{name[1:]}"
        yield Member(at, told, member, name in shape.required_members, str(member.serialization.get("location", "")))
        if depth and member.type_name == "structure":
            yield from _of_structure(member, f"{at}/", f"{told}.", without, depth - 1)
        if depth and member.type_name == "list" and member.member.type_name == "structure":
            yield from _of_structure(member.member, f"{at}/0/", f"{told}.1.member.", without, depth - 1)


def problem(value: str, shown: str, constraint: str) -> str:
    """Returns one violation in AWS's wording."""
    return f"Value {value} at '{shown}' failed to satisfy constraint: Member must {constraint}"


def violations(*problems: str) -> str:
    """Returns the text of an error for some violations. The order of violations is not known, so tests compare them
    as a set.
    """
    number = len(problems)
    return f"{number} validation error{'s' if number > 1 else ''} detected: {'; '.join(problems)}"


def problems_of(member: Member, value: Any) -> list[str]:
    """Returns the traits of the model that a value of the right type violates."""
    size = value if member.kind == "integer" else len(value)
    of = "value" if member.kind == "integer" else "length"
    shown, found = f"'{value}'", []
    if member.trait("pattern") is not None and not re.fullmatch(member.trait("pattern"), value, re.ASCII):
        found.append(f"satisfy regular expression pattern: {member.trait('pattern')}")
    if member.trait("min") is not None and size < member.trait("min"):
        found.append(f"have {of} greater than or equal to {member.trait('min')}")
    if member.trait("max") is not None and size > member.trait("max"):
        found.append(f"have {of} less than or equal to {member.trait('max')}")
    if member.enum and value not in member.enum:
        found.append(f"satisfy enum value set: [{', '.join(member.enum)}]")
    return [problem(shown, member.shown, constraint) for constraint in found]
