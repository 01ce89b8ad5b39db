"""Declares the names of members in Query and XML where they differ from the member's own name.

JSON uses the member's name. Query and XML need more names for lists and maps. SQS flattens lists and maps
(`Attribute.1.Name`, repeated `<Attribute>` elements). SNS wraps lists and maps (`Attributes.entry.1.key`,
`<Tags><member>`). A member's type declares the names: `Annotated[dict[str, str] | None, name_flat_map("Attribute",
"Name", "Value")]`. A list or map without a declaration is wrapped. Source: the `flattened` and `locationName` traits of
the Query models. The JSON responses of the Query protocol use the member's name, unless `json` contains another name.

CBOR uses the member's name. `Blob` and `IsoTime` declare the texts that have other types in CBOR.

REST-JSON sends some members outside the body: `Annotated[str, in_path()]`, `Annotated[str | None,
in_query("State")]`. Source: the `location` and `locationName` traits of the models.
"""

from typing import Annotated, Any, Literal

import msgspec

Unsupported = Any
"""A member of AWS's model that Penstock refuses with any value."""
Document = Unsupported
"""A JSON value of any type."""


class Request(msgspec.Struct, rename="pascal", gc=False):
    """Base class of requests, with AWS's PascalCase names.

    Requests contain no cycles, so the garbage collector skips them.
    """


class Result(msgspec.Struct, rename="pascal", omit_defaults=True, gc=False):
    """Base class of results and their parts. The encoder omits members with default values."""


class RestMessage(msgspec.Struct, rename="pascal", omit_defaults=True, gc=False):
    """Base class of requests, results and parts in REST-JSON. The encoder omits absent members."""


class Naming(msgspec.Struct, frozen=True):
    """The names of one list or map. `tag` is the repeated element. Maps also have `key` and `value`."""

    flat: bool
    tag: str
    key: str = "key"
    value: str = "value"
    json: str = ""


WRAPPED_LIST = Naming(flat=False, tag="member")
WRAPPED_MAP = Naming(flat=False, tag="entry")


def name_flat_list(tag: str, json: str = "") -> msgspec.Meta:
    """Declares a list with the items `tag.1`, `tag.2` in Query and repeated `<tag>` in XML."""
    return msgspec.Meta(extra={"naming": Naming(flat=True, tag=tag, json=json)})


def name_flat_map(tag: str, key: str = "Name", value: str = "Value") -> msgspec.Meta:
    """Declares a map with the entries `tag.1.key` and `tag.1.value` in Query and repeated `<tag>` in XML."""
    return msgspec.Meta(extra={"naming": Naming(flat=True, tag=tag, key=key, value=value)})


def name_map_entries(key: str, value: str) -> msgspec.Meta:
    """Declares a map below `Member.entry.N` with special names for keys and values."""
    return msgspec.Meta(extra={"naming": Naming(flat=False, tag="entry", key=key, value=value)})


Blob = Annotated[str, msgspec.Meta(extra={"wire": "blob"})]
"""Binary data, which is base64 text here, in JSON and in Query. CBOR has byte strings."""
IsoTime = Annotated[str, msgspec.Meta(extra={"wire": "time"})]
"""A time in ISO 8601, as in Query. CBOR has timestamps."""


class ParameterLocation(msgspec.Struct, frozen=True):
    """The place of a REST-JSON request's member outside the body. `name` is the query string parameter's name."""

    where: Literal["path", "query"]
    name: str = ""


def in_path() -> msgspec.Meta:
    """Declares a member that follows the resource's kind in the path."""
    return msgspec.Meta(extra={"location": ParameterLocation("path")})


def in_query(name: str) -> msgspec.Meta:
    """Declares a parameter of the query string."""
    return msgspec.Meta(extra={"location": ParameterLocation("query", name)})
