"""Defines a case: one request with one unusual part, AWS's response to it, and the source of the response.

The modules of the services define the responses. The sources are AWS's pages, botocore's models, and reports by AWS's
users.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from tests.support.conformance.sdk_clients import service_model


class Source(NamedTuple):
    """Names the source of a response. `address` is empty for responses that AWS does not document, and for botocore's
    models."""

    title: str
    address: str = ""

    @property
    def is_ours(self) -> bool:
        return self is OURS


OURS = Source("our choice")
"""AWS does not document the response, and no user reports the response."""


class Change(Enum):
    """Names the changes to a member that do not set a new value."""

    ABSENT = "absent"


ABSENT = Change.ABSENT

Members = dict[str, Any]


class Response(NamedTuple):
    """`code` is the error code of the Query protocol for SQS and SNS. `code` is empty if the request succeeds.

    `text` is AWS's wording, or None if no source quotes it. A text that ends in … is the beginning of AWS's text.
    """

    code: str = ""
    text: str | None = None

    def __str__(self) -> str:
        return self.code or "200"


OK = Response()


class Case(NamedTuple):
    """`given` maps the path of a member (`Target/Arn`, `Tags/0/Key`) to its change. None is null.

    `only` is the protocol of the case, json or query. An empty `only` means both protocols. `form` lists additional raw
    parameters of a Query request. `unsigned` omits the signature. `ours` is Penstock's response if it differs from
    AWS's response, and `why` is the reason.
    """

    service: str
    action: str
    parameter: str
    case: str
    given: Mapping[str, Any]
    response: Response
    source: Source
    only: str = ""
    form: tuple[tuple[str, str], ...] = ()
    unsigned: bool = False
    ours: Response | None = None
    why: str = ""

    @property
    def expected(self) -> Response:
        return self.response if self.ours is None else self.ours


def changed(usual: Members, changes: Mapping[str, Any]) -> Members:
    members: Members = _copy(usual)
    for path, value in changes.items():
        _put(members, path.split("/"), _copy(value))
    return members


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(element) for name, element in value.items()}
    return [_copy(element) for element in value] if isinstance(value, list) else value


def _put(node: Any, path: list[str], value: Any) -> None:
    name, *rest = path
    key: Any = int(name) if isinstance(node, list) else name
    if rest:
        if isinstance(node, dict) and key not in node:
            node[key] = {}
        _put(node[key], rest, value)
    elif value is ABSENT:
        node.pop(key, None)
    else:
        node[key] = value


__all__ = ["OURS"]

DOCS = "https://docs.aws.amazon.com"
MODELS = {
    "sqs": Source("botocore's model sqs/2012-11-05"),
    "sns": Source("botocore's model sns/2010-03-31"),
    "scheduler": Source("botocore's model scheduler/2021-06-30"),
}
SMITHY = "https://smithy.io/2.0/aws/protocols"
REST_JSON = Source("AWS restJson1 protocol, Smithy", f"{SMITHY}/aws-restjson1-protocol.html")
AWS_JSON = Source("AWS JSON 1.0 protocol, Smithy", f"{SMITHY}/aws-json-1_0-protocol.html")
MALFORMED = Source(
    "malformed requests, Smithy's protocol tests",
    "https://github.com/smithy-lang/smithy/tree/main/smithy-aws-protocol-tests/model/restJson1/malformedRequests",
)
RECORDED = Source("recorded at AWS")
_REFERENCES = {
    "sqs": ("AWSSimpleQueueService/latest/APIReference", "SQS API reference"),
    "sns": ("sns/latest/api", "SNS API reference"),
    "scheduler": ("scheduler/latest/APIReference", "EventBridge Scheduler API reference"),
}
_GUIDES = {
    "sqs": ("AWSSimpleQueueService/latest/SQSDeveloperGuide", "SQS Developer Guide"),
    "sns": ("sns/latest/dg", "SNS Developer Guide"),
    "scheduler": ("scheduler/latest/UserGuide", "EventBridge Scheduler User Guide"),
}


def reference(service: str, page: str) -> Source:
    """Returns a page of an API reference by the name of its action or data type."""
    path, title = _REFERENCES[service]
    return Source(f"{page}, {title}", f"{DOCS}/{path}/API_{page}.html")


def common_errors(service: str) -> Source:
    """Returns the page of errors that all actions share."""
    path, title = _REFERENCES[service]
    return Source(f"Common Errors, {title}", f"{DOCS}/{path}/CommonErrors.html")


def guide(service: str, page: str, title: str) -> Source:
    """Returns a page of a developer guide."""
    path, book = _GUIDES[service]
    return Source(f"{title}, {book}", f"{DOCS}/{path}/{page}.html")


def report(repository: str, number: int) -> Source:
    """Returns a public issue in which a user quotes AWS's response."""
    return Source(f"{repository}#{number}", f"https://github.com/{repository}/issues/{number}")


# --- members ---------------------------------------------------------------------------------------------------------
# Reads the members of an action's request and their traits from botocore's model, and makes values that break each
# trait.

MOST_DEPTH = 3


class Member(NamedTuple):
    """`path` is the member's path in `Case.given`. `shown` is the path in AWS's texts: `Tags/0/Key` and
    `tags.1.member.key`.

    `where` is `uri` or `querystring` for REST-JSON. `parent_required` says whether the structure around the member is
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
    """Yields the members of an action's request and of its structures, except members named in `without`."""
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
    """Returns the text of an error with the given violations. AWS does not document the order of violations, so tests
    compare them as a set.
    """
    number = len(problems)
    return f"{number} validation error{'s' if number > 1 else ''} detected: {'; '.join(problems)}"


def problems_of(member: Member, value: Any) -> list[str]:
    """Returns the traits that a value of the right type violates."""
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
