"""Adds errors, and the bodies that msgspec reads and writes, to FastAPI's OpenAPI document. `make fuzz-api` searches
for statuses that the document does not list.
"""

import tomllib
from collections.abc import Mapping
from http import HTTPStatus
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

import msgspec

from penstock import errors
from penstock.errors import AwsError

from .errors import UnsupportedMediaType, status_and_code

Node = dict[str, Any]
"""An object of the document."""
Responses = dict[int | str, Node]

ERROR: Final = "ErrorResponse"
"""Names the error schema in the document."""
UNAVAILABLE: Final = (errors.RequestTimeout, errors.InternalFailure, errors.ServiceUnavailable)
"""Every route that calls the database can return these errors."""
ACCESS: Final = (
    errors.MissingAuthenticationToken, errors.InvalidClientTokenId, errors.AccessDenied, errors.MisdirectedRequest,
    errors.RequestThrottled,
)  # fmt: skip
"""Every route for which `OperationRunner.admit` checks the caller can return these errors."""
EVERY_ROUTE: Final = (
    *ACCESS, *UNAVAILABLE, AwsError, errors.RequestEntityTooLarge, errors.ResponseTooLarge, UnsupportedMediaType
)  # fmt: skip
"""Every route below /v1 can return these errors. A client can also send a long body, or a body that is not JSON, to a
route that takes no body."""


_MEANINGS: Final = Path(__file__).with_name("meanings.toml")
UNREADABLE: Final = "Done. The caller may not read the resource."


class Problem(msgspec.Struct):
    """An error. `detail` explains an AWS message. `hint` suggests a remedy. An error in a schedule's expression also
    has the error's `position` (from 0), a `suggestion` for the probable meaning, and `examples`.
    """

    code: str
    message: str
    detail: str | None = None
    hint: str | None = None
    position: int | None = None
    suggestion: str | None = None
    examples: list[str] | None = None


class ErrorResponse(msgspec.Struct):
    """The body of every response without a 2xx status."""

    error: Problem


def describe_error_responses(*kinds: type[AwsError]) -> Responses:
    """Returns one response for each status. The description lists the codes."""
    codes: dict[int, list[str]] = {}
    for status, code in sorted({status_and_code(kind) for kind in kinds}):
        codes.setdefault(status, []).append(f"`{code}`")
    return {
        status: {
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{ERROR}"}}},
            "description": f"{HTTPStatus(status).phrase}: {', '.join(names)}",
        }
        for status, names in codes.items()
    }


def complete_document(document: Node) -> Node:
    """Adds the error schema, meanings and examples to FastAPI's document. Removes FastAPI's status 422, because the
    service answers invalid requests with 400.
    """
    texts = tomllib.loads(_MEANINGS.read_text())
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["responses"].pop("422", None)
            for parameter in operation.get("parameters", ()):
                parameter.setdefault("description", texts["parameters"].get(parameter["name"], ""))
            for content in operation.get("requestBody", {}).get("content", {}).values():
                _add_meanings(content["schema"], texts["members"])
                if example := texts["examples"].get(f"{method.upper()} {path}"):
                    content["example"] = msgspec.json.decode(example)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas[ERROR] = build_schema(ErrorResponse)
    return document


def _add_meanings(schema: Node, meanings: Node) -> None:
    """Adds the missing descriptions of an object's members, and of the members of inner objects."""
    own = meanings.get(schema.get("title", ""), {})
    for name, member in schema.get("properties", {}).items():
        if text := own.get(name) or meanings.get(name):
            member.setdefault("description", text)
        _add_meanings(member, meanings)
    inner = [schema.get("items"), schema.get("additionalProperties"), *schema.get("anyOf", ())]
    for part in inner:
        if isinstance(part, dict):
            _add_meanings(part, meanings)


def build_schema(kind: object) -> dict[str, object]:
    """Returns the JSON schema of a msgspec type without references, because references would not resolve in the OpenAPI
    document."""
    (schema,), named = msgspec.json.schema_components((kind,), ref_template="{name}")
    return _inline_members(schema, named)


def _inline_members(schema: Mapping[str, object], named: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """Replaces references in a schema with the schemas to which they refer. Removes the code's indentation from
    descriptions."""
    inlined = {name: _inline(value, named) for name, value in schema.items() if name != "$ref"}
    if isinstance(text := inlined.get("description"), str):
        inlined["description"] = cleandoc(text)
    reference = schema.get("$ref")
    return {**_inline_members(named[reference], named), **inlined} if isinstance(reference, str) else inlined


def _inline(part: object, named: Mapping[str, Mapping[str, object]]) -> object:
    if isinstance(part, dict):
        return _inline_members(part, named)
    return [_inline(element, named) for element in part] if isinstance(part, list) else part


def request_body_schema(kind: object) -> dict[str, object]:
    """Returns the schema of a request body, for a route's `openapi_extra`."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": build_schema(kind)}}}}


def describe_json_responses(*kinds: object, statuses: tuple[int, ...] = (200,)) -> Responses:
    """Returns the `responses` of a route. For every status, the response has one of these msgspec types. If the status
    is 204, the response has no body."""
    schemas = [build_schema(kind) for kind in kinds]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    responses: Responses = {status: {"content": {"application/json": {"schema": schema}}} for status in statuses}
    return responses | ({204: {"description": UNREADABLE, "content": {}}} if 204 in statuses else {})
