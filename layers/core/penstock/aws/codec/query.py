"""The codec of the Query protocol: decodes form bodies and query strings.

    Action=SendMessage&MessageBody=hi&MessageAttribute.1.Name=a&MessageAttribute.1.Value.DataType=String…

The codec splits the names at their dots into a tree, in linear time. An index is an ordinary key, so
`Attribute.999999999` is one entry. The codec limits the depth and the number of parameters. The codec decodes the tree
according to the request type. Sources: the Query serializer's traits in the models (names), the examples of the SQS API
reference, which also omit the index (`AttributeName=All`, `Attribute.Name=…`).
"""

import re
from binascii import a2b_qp
from collections.abc import Callable
from functools import cache
from typing import Any, cast
from urllib.parse import unquote_to_bytes

import msgspec

from penstock.errors import InvalidParameterValue, MalformedQueryString, MissingParameter, RequestEntityTooLarge

from .names import Naming
from .schema import List, Map, Member, Scalar, Shape, Structure, build, find_query_name, read_structure

# An SQS batch has at most 400 parameters. An SNS message has three parameters per attribute.
MAX_PARAMETERS = 5_000
MAX_DEPTH = 8
MAX_DECODED_BYTES = 2_097_152  # a MiB of binary attributes is 1.4 MiB of base64
FEW_ESCAPES = 4_096

Tree = dict[str, Any]  # a leaf is a str, and a branch is a Tree

_PERCENT_TO_EQUALS = bytes.maketrans(b"%", b"=")
_INTEGER = re.compile(r"-?[0-9]{1,10}").fullmatch
_INDEX = re.compile(r"[0-9]{1,10}").fullmatch
_BOOLEANS = {"true": True, "false": False}


# --- text to tree ----------------------------------------------------------------------------------------------------
def parse(*texts: bytes) -> Tree:
    """Returns the parameters of the query string and the form body. A later parameter replaces an earlier parameter of
    the same name.

    Raises MalformedQueryString for too many parameters, for a text that is not UTF-8, and for a name that is too deep
    or both a value and a prefix. Raises RequestEntityTooLarge if the unescaped texts are longer than any valid request.
    """
    tree: Tree = {}
    if sum(len(text) - 2 * min(text.count(b"%"), len(text) // 3) for text in texts) > MAX_DECODED_BYTES:
        raise RequestEntityTooLarge
    pairs = [pair for text in texts if text for pair in text.split(b"&", MAX_PARAMETERS) if pair]
    if len(pairs) > MAX_PARAMETERS:
        raise MalformedQueryString(f"The request has more than {MAX_PARAMETERS} parameters.")
    for pair in pairs:
        name, _, value = pair.partition(b"=")
        _insert(tree, _unquote(name), _unquote(value))
    return tree


def _unquote(text: bytes) -> str:
    if b"+" in text:
        text = text.replace(b"+", b" ")
    if b"%" in text:
        text = unquote(text)
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise MalformedQueryString("The request contains characters that are not UTF-8.") from None


def unquote(text: bytes) -> bytes:
    """Decodes `%41` to `A`. Keeps a percent sign that does not begin an escape, as browsers do.

    Python's function takes 0.3 µs per escape, or 0.6 s for a body full of escapes. Therefore the function decodes many
    escapes with the quoted-printable decoder, which is written in C, reads `=41` and takes 3 ns per escape. Raises
    MalformedQueryString if a text with many escapes also has a percent sign without an escape.
    """
    escapes = text.count(b"%")
    if escapes <= FEW_ESCAPES:
        return unquote_to_bytes(text)
    if 3 * escapes <= len(text):
        # Each = in `marked` starts an escape. Only a valid escape, which makes the decoded text two bytes shorter, and
        # a soft line break can make the text shorter.
        marked = text.replace(b"=", b"%3D").translate(_PERCENT_TO_EQUALS)
        decoded = a2b_qp(marked)
        soft_break = b"=\r" in marked or b"=\n" in marked
        if len(marked) - len(decoded) == 2 * (escapes + text.count(b"=")) and not soft_break:
            return decoded
    raise MalformedQueryString("The request contains a percent sign that is not part of an escape.")


def _insert(tree: Tree, name: str, value: str) -> None:
    *path, last = name.split(".", MAX_DEPTH)
    if len(path) == MAX_DEPTH:
        raise MalformedQueryString("A parameter name has too many parts.")
    for part in path:
        tree = tree.setdefault(part, {})
        if isinstance(tree, str):
            raise _build_conflict(name)
    if isinstance(tree.get(last), dict):
        raise _build_conflict(name)
    tree[last] = value


def _build_conflict(name: str) -> MalformedQueryString:
    return MalformedQueryString(f"The parameter {name[:256]} is both a value and a part of other names.")


# --- tree to request -------------------------------------------------------------------------------------------------
@cache
def build_decoder(request: type[msgspec.Struct]) -> Callable[[Tree], Any]:
    """Returns a function that decodes parameters. The function raises MissingParameter or InvalidParameterValue."""
    shape = read_structure(request)
    return lambda tree: _decode_structure(shape, tree, "")


def _decode_structure(shape: Structure, node: str | Tree, prefix: str) -> Any:
    if isinstance(node, str):
        raise InvalidParameterValue(f"Value for parameter {prefix.rstrip('.')} is invalid.")
    values = {}
    for member in shape.members:
        value = _decode_member(member, node)
        if value is not None:
            values[member.attribute] = _decode_value(member.shape, value, prefix + find_query_name(member))
        elif member.required:
            values[member.attribute] = _decode_absent(member, prefix)
    return build(shape, values)


def _decode_member(member: Member, node: Tree) -> str | Tree | None:
    """Returns the member's value. A flattened member can have the member's name or its element's name."""
    name = find_query_name(member)
    value: str | Tree | None = node.get(name)
    return node.get(member.name) if value is None and name != member.name else value


def _decode_absent(member: Member, prefix: str) -> Any:
    """Returns the default of an absent required member. For SQS, an absent flattened list is empty, because the
    protocol cannot send an empty list."""
    if isinstance(member.shape, List) and member.shape.naming.flat:
        return []
    raise MissingParameter.named(prefix + member.name)


def _decode_value(shape: Shape, node: str | Tree, path: str) -> Any:
    match shape:
        case Scalar(kind):
            return _decode_scalar(kind, node, path)
        case List(item):
            return [_decode_value(item, entry, f"{path}.{index}") for index, entry in _list_entries(node)]
        case Map(item, naming):
            return dict(_decode_pair(item, naming, entry, f"{path}.{index}") for index, entry in _list_entries(node))
        case Structure():
            return _decode_structure(shape, node, f"{path}.")


def _list_entries(node: str | Tree) -> list[tuple[str, str | Tree]]:
    """Returns the entries in the order of their indexes, without gaps. If the node has no index, the node is the only
    entry.

    An empty string means an empty list, because botocore sends an empty list as an empty string.
    """
    if isinstance(node, dict) and len(node) == 1:
        node = cast("str | Tree", node.get("member", node.get("entry", node)))
    if isinstance(node, str) or not any(map(_INDEX, node)):
        return [("1", node)] if node else []
    return sorted(((key, node[key]) for key in node if _INDEX(key)), key=lambda entry: int(entry[0]))


def _decode_pair(shape: Shape, naming: Naming, node: str | Tree, path: str) -> tuple[str, Any]:
    if isinstance(node, str):
        raise InvalidParameterValue(f"Value for parameter {path} is invalid.")
    key, value = node.get(naming.key), node.get(naming.value)
    if value is None and isinstance(shape, Structure):
        value = {}  # decoding {} reports the missing member
    if value is None or not isinstance(key, str):
        raise MissingParameter.named(f"{path}.{naming.value if isinstance(key, str) else naming.key}")
    return key, _decode_value(shape, value, f"{path}.{naming.value}")


def _decode_scalar(kind: type, node: str | Tree, path: str) -> Any:
    if isinstance(node, dict):
        raise InvalidParameterValue(f"Value for parameter {path} is invalid.")
    if kind is str:
        return node
    if kind is bool and node in _BOOLEANS:
        return _BOOLEANS[node]
    if kind is int and _INTEGER(node) is not None:
        return int(node)
    reason = "Must be an integer." if kind is int else "Must be true or false."
    raise InvalidParameterValue(f"Value {node[:256]} for parameter {path} is invalid. Reason: {reason}")
