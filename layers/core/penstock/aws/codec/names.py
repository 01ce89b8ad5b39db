"""Names of members in Query and XML, if these differ from the member's name.

JSON uses the member's name. Query and XML need more names for lists and maps, and the services differ: SQS flattens
(`Attribute.1.Name`, repeated `<Attribute>` elements), SNS wraps (`Attributes.entry.1.key`, `<Tags><member>`). A member
declares this in its type: `Annotated[dict[str, str] | None, name_flat_map("Attribute", "Name", "Value")]`.
A list or map without a declaration is wrapped. Source: the `flattened` and `locationName` traits of the Query models.
The JSON of the Query protocol uses the member's name, unless AWS's answers have another name (`json`).

REST-JSON has some members outside of the body: `Annotated[str, in_path()]`, `Annotated[str | None, in_query("State")]`.
Source: the `location` and `locationName` traits of the models.
"""

from typing import Any, Literal

import msgspec

Unsupported = Any
"""A member of AWS's model that Penstock refuses with any value."""


class Request(msgspec.Struct, rename="pascal", gc=False):
    """Base class of requests, with AWS's PascalCase names.

    Requests contain no cycles, so garbage collection may skip them.
    """


class Result(msgspec.Struct, rename="pascal", omit_defaults=True, gc=False):
    """Base class of results and their parts. The encoder omits members whose value is the default."""


class RestMessage(msgspec.Struct, rename="pascal", omit_defaults=True, gc=False):
    """Base class of the requests, results and parts of REST-JSON. The encoder omits absent members."""


class Naming(msgspec.Struct, frozen=True):
    """Holds the names of one list or map. `tag` is the repeated element; maps also name their `key` and `value`."""

    flat: bool
    tag: str
    key: str = "key"
    value: str = "value"
    json: str = ""


WRAPPED_LIST = Naming(flat=False, tag="member")
WRAPPED_MAP = Naming(flat=False, tag="entry")


def name_flat_list(tag: str, json: str = "") -> msgspec.Meta:
    """Returns a list whose items are `tag.1`, `tag.2` in Query and repeated `<tag>` in XML."""
    return msgspec.Meta(extra={"naming": Naming(flat=True, tag=tag, json=json)})


def name_flat_map(tag: str, key: str = "Name", value: str = "Value") -> msgspec.Meta:
    """Returns a map whose entries are `tag.1.key` / `tag.1.value` in Query and repeated `<tag>` in XML."""
    return msgspec.Meta(extra={"naming": Naming(flat=True, tag=tag, key=key, value=value)})


def name_map_entries(key: str, value: str) -> msgspec.Meta:
    """Returns a map below `Member.entry.N` with its own names for keys and values."""
    return msgspec.Meta(extra={"naming": Naming(flat=False, tag="entry", key=key, value=value)})


class ParameterLocation(msgspec.Struct, frozen=True):
    """The place outside of the body where a REST-JSON request has a member. `name` is the parameter's name in the
    query
    string.
    """

    where: Literal["path", "query"]
    name: str = ""


def in_path() -> msgspec.Meta:
    """Returns the part of the path behind the resource's name."""
    return msgspec.Meta(extra={"location": ParameterLocation("path")})


def in_query(name: str) -> msgspec.Meta:
    """Returns a parameter of the query string."""
    return msgspec.Meta(extra={"location": ParameterLocation("query", name)})
