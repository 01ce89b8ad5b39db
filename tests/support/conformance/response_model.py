"""Checks responses against botocore's model: the model must contain every member and its type, and no member may be
empty.

The module converts all three formats to AWS JSON. botocore's last Query model names the XML elements.
"""

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

from tests.support.conformance.sdk_clients import service_model

NAMESPACES = {
    "sqs": "{http://queue.amazonaws.com/doc/2012-11-05/}",
    "sns": "{http://sns.amazonaws.com/doc/2010-03-31/}",
}
TYPES = {"string": str, "integer": int, "long": int, "boolean": bool, "blob": str, "timestamp": float}
# The names in AWS's published JSON samples for the Query protocol.
QUERY_JSON_NAMES = {"messages": "Messages", "queueUrls": "QueueUrls"}


def members(protocol: str, action: str, body: bytes, service: str = "sqs") -> set[str]:
    """Returns a response's members, such as `Successful[].Id`, without the keys of maps."""
    shape = service_model("json", service).operation_model(action).output_shape
    if shape is None:
        assert_empty(protocol, action, body, service)
        return set()
    if protocol == "json":
        document = json.loads(body)
    elif protocol == "query-json":
        document = from_query_json(shape, _unwrapped(json.loads(body), action))
    else:
        named = service_model("query", service).operation_model(action).output_shape
        document = from_xml(named, _result(body, action, service))
    return checked(shape, document, "")


def assert_empty(protocol: str, action: str, body: bytes, service: str) -> None:
    """Checks that an action without a result returns only the request id."""
    if protocol == "json":
        assert body == b""
    elif protocol == "query-json":
        assert list(json.loads(body)[f"{action}Response"]) == ["ResponseMetadata"]
    else:
        tags = [child.tag for child in _response(body, action, service)]
        assert tags == [f"{NAMESPACES[service]}ResponseMetadata"]


def checked(shape: Any, value: Any, path: str) -> set[str]:
    """Returns the members of a value in AWS JSON. Fails for unknown or empty members.

    The caller checks whether the response itself may be empty.
    """
    assert value not in ("", [], {}, None) or (path == "" and value == {}), f"{path} is empty"
    if shape.type_name == "structure":
        assert isinstance(value, dict)
        assert value.keys() <= shape.members.keys(), f"{path}: {value.keys() - shape.members.keys()}"
        # A response omits an empty list.
        assert value.keys() >= set(shape.required_members) - {"Successful", "Failed"}
        prefix = f"{path}." if path else ""
        found = (checked(shape.members[name], element, prefix + name) for name, element in value.items())
        return set().union(*found) | {prefix + name for name in value}
    if shape.type_name == "list":
        assert isinstance(value, list)
        return set().union(*(checked(shape.member, element, f"{path}[]") for element in value))
    if shape.type_name == "map":
        assert isinstance(value, dict)
        return set().union(*(checked(shape.value, element, f"{path}{{}}") for element in value.values()))
    assert type(value) is TYPES[shape.type_name], f"{path}: {value!r}"
    return set()


# --- XML -------------------------------------------------------------------------------------------------------------
def _response(body: bytes, action: str, service: str) -> ET.Element:
    root, space = ET.fromstring(body), NAMESPACES[service]
    assert root.tag == f"{space}{action}Response"
    assert re.fullmatch(r"[0-9a-f-]{36}", root.findtext(f"{space}ResponseMetadata/{space}RequestId", ""))
    return root


def _result(body: bytes, action: str, service: str) -> ET.Element:
    result, _ = _response(body, action, service)
    assert result.tag == f"{NAMESPACES[service]}{action}Result"
    return result


def from_xml(shape: Any, element: ET.Element) -> Any:
    """Converts an element to JSON."""
    if shape.type_name == "structure":
        return _structure(shape, element)
    if shape.type_name == "list":
        assert {_plain(child) for child in element} <= {"member"}
        return [from_xml(shape.member, child) for child in element]
    if shape.type_name == "map":
        assert {_plain(child) for child in element} <= {"entry"}
        return dict(_pair(shape, child) for child in element)
    text = element.text or ""
    if shape.type_name == "boolean":
        return {"true": True, "false": False}[text]
    return int(text) if shape.type_name in ("integer", "long") else text


def _structure(shape: Any, element: ET.Element) -> dict[str, Any]:
    """Reads a structure. In SQS's XML the entries of lists and maps are direct children of the structure."""
    tags = {_tag(name, member): (name, member) for name, member in shape.members.items()}
    found: dict[str, Any] = {}
    for child in element:
        name, member = tags[_plain(child)]
        if member.type_name == "list" and _flattened(member):
            found.setdefault(name, []).append(from_xml(member.member, child))
        elif member.type_name == "map" and _flattened(member):
            key, value = _pair(member, child)
            found.setdefault(name, {})[key] = value
        else:
            assert name not in found
            found[name] = from_xml(member, child)
    return found


def _pair(shape: Any, entry: ET.Element) -> tuple[str, Any]:
    key, value = entry
    names = [part.serialization.get("name", default) for part, default in ((shape.key, "key"), (shape.value, "value"))]
    assert [_plain(key), _plain(value)] == names
    return key.text or "", from_xml(shape.value, value)


def _flattened(member: Any) -> bool:
    return bool(member.serialization.get("flattened"))


def _plain(element: ET.Element) -> str:
    """Returns the tag without the namespace."""
    return element.tag.rpartition("}")[2]


def _tag(name: str, member: Any) -> str:
    named = member.member if member.type_name == "list" and _flattened(member) else member
    return str(named.serialization.get("name", name))


# --- JSON of the Query protocol --------------------------------------------------------------------------------------
def _unwrapped(document: dict[str, Any], action: str) -> Any:
    ((name, response),) = document.items()
    assert name == f"{action}Response"
    assert response.keys() == {f"{action}Result", "ResponseMetadata"}
    assert re.fullmatch(r"[0-9a-f-]{36}", response["ResponseMetadata"]["RequestId"])
    return response[f"{action}Result"]


def from_query_json(shape: Any, value: Any) -> Any:
    """Returns the value without null members, and with lists of pairs as maps."""
    if shape.type_name == "structure":
        named = {
            QUERY_JSON_NAMES.get(name, name) if name not in shape.members else name: element
            for name, element in value.items()
        }
        assert named.keys() == shape.members.keys()
        return {
            name: from_query_json(shape.members[name], element)
            for name, element in named.items()
            if element is not None
        }
    if shape.type_name == "list":
        return [from_query_json(shape.member, element) for element in value]
    if shape.type_name == "map":
        pairs = [tuple(pair.values()) for pair in value]
        return {key: from_query_json(shape.value, element) for key, element in pairs}
    return value
