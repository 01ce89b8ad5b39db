"""Tests NUL and lone surrogates: the service answers a client error for each text in each action.

PostgreSQL cannot store NUL and lone surrogates. The tests put these characters into each member and attribute in each
protocol, directly and as JSON escapes in documents such as filter policies. `clean_log` in conftest.py checks that
PostgreSQL does not log an error, because the error would contain the clients' texts.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import botocore.serialize
import pytest

from penstock.sns import attributes as sns_attributes
from penstock.sqs import attributes as sqs_attributes
from tests.support import client_setup
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import Deployments
from tests.support.conformance.requests import FORM, TARGETS, Members
from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sdk_clients import service_model
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs
from tests.support.conformance.valid_requests import scheduler as scheduler_actions
from tests.support.conformance.valid_requests import sns as sns_actions
from tests.support.conformance.valid_requests import sqs as sqs_actions
from tests.support.local_lambda.events import Request, Response

UNSTORABLE = ("a\0b", "a\ud800b")
# Lists the attributes that can contain documents.
DOCUMENTS = (
    '{"a": ["b\\u0000"]}', '{"a\\u0000": ["b"]}', '{"a": ["b\\ud800"]}', '{"a\\udc00": ["b"]}',
    '{"a": [{"prefix": "\\u0000"}]}', '{"a": [{"wildcard": "\\ud800*"}]}', '{"Statement": [], "Id": "\\u0000"}',
    '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:\\ud800", "maxReceiveCount": 1}',
    '{"redrivePermission": "byQueue", "sourceQueueArns": ["\\u0000"]}',
    '{"redrivePermission": "byQueue", "sourceQueueArns": ["arn:aws:sqs:us-east-1:000000000000:\\ud800"]}',
    '{"healthyRetryPolicy": {"backoffFunction": "\\ud800"}}',
    '{"http": {"requestPolicy": {"headerContentType": "\\u0000"}}}',
    '{"default": "\\u0000"}', '{"default": "x", "sqs": "\\ud800"}', '"\\ud800"', "\\u0000",
)  # fmt: skip
# The service neither stores the members in this set nor searches the database for them.
UNUSED = {
    ("ListQueues", ("QueueNamePrefix",)),  # no name of a queue begins with it, so the list is empty
    ("ReceiveMessage", ("MessageAttributeNames", 0)),  # no name of an attribute contains it
    ("ConfirmSubscription", ("AuthenticateOnUnsubscribe",)),  # every value but true means false
    ("Publish", ("TargetArn",)),  # the service reads it only if TopicArn is absent
}
QUEUE = {**sqs_attributes.STANDARD, **sqs_attributes.FIFO, **sqs_attributes.EXTENSIONS}
TOPIC = {**sns_attributes.TOPIC, **sns_attributes.FIFO_TOPIC}
# For each action, lists the members that hold attributes, and the names of these attributes.
ATTRIBUTES: dict[str, tuple[str, Any]] = {
    "CreateQueue": ("Attributes", QUEUE),
    "SetQueueAttributes": ("Attributes", QUEUE),
    "CreateTopic": ("Attributes", TOPIC),
    "SetTopicAttributes": ("AttributeName", TOPIC),
    "Subscribe": ("Attributes", sns_attributes.SUBSCRIPTION),
    "SetSubscriptionAttributes": ("AttributeName", sns_attributes.SUBSCRIPTION),
}

Path = tuple[str | int, ...]
ENTRY, KEY, VALUE = 0, -1, -2  # ENTRY is an item of a list, KEY and VALUE belong to a map


def texts(shape: Any, path: Path = ()) -> Iterator[Path]:
    """Yields the path of each text in a request."""
    match shape.type_name:
        case "string":
            yield path
        case "structure":
            for name, member in shape.members.items():
                yield from texts(member, (*path, name))
        case "list":
            yield from texts(shape.member, (*path, ENTRY))
        case "map":
            yield (*path, KEY)
            yield from texts(shape.value, (*path, VALUE))


def with_text(given: Any, path: Path, text: str) -> Any:
    """Returns the members with the given text at `path`, and creates the structure around the text."""
    if not path:
        return text
    first, *rest = path
    if first == ENTRY:
        entries = list(given or [None])
        return [with_text(entries[0], tuple(rest), text), *entries[1:]]
    members = dict(given or {})
    if first == KEY:
        return {**members, text: next(iter(members.values()), "x")}
    name = next(iter(members), "a") if first == VALUE else first
    return {**members, name: with_text(members.get(name), tuple(rest), text)}


def with_attribute(given: Members, action: str, name: str, text: str) -> Members:
    member, _ = ATTRIBUTES[action]
    if member == "Attributes":
        return {**given, member: {name: text}}
    return {**given, "AttributeName": name, "AttributeValue": text}


def tried_texts(where: Path) -> tuple[str, ...]:
    """Returns the texts to put into a member. Only members that can be documents receive texts within a document."""
    last = where[-1]
    may_be_document = last in {VALUE, "AttributeValue", "Message", "Input"} or str(last).endswith("Policy")
    return (*UNSTORABLE, *DOCUMENTS) if may_be_document else UNSTORABLE


# --- how it is asked -------------------------------------------------------------------------------------------------
def operation_of(service: str, action: str, protocol: str) -> Any:
    model = scheduler_actions.MODEL if protocol == "rest" else service_model(protocol, service)
    return model.operation_model(action)


def by_json(service: str, action: str, given: Members) -> Request:
    target = f"{TARGETS[service]}.{action}"
    headers = (("Content-Type", "application/x-amz-json-1.0"), ("X-Amz-Target", target))
    return Request(headers=headers, body=json.dumps(given).encode())


def by_query(service: str, action: str, given: Members) -> Request:
    serializer = botocore.serialize.create_serializer("query", include_validation=False)
    written = serializer.serialize_to_request(given, operation_of(service, action, "query"))["body"]
    return Request(headers=(("Content-Type", FORM),), body=urlencode(written, errors="surrogatepass").encode())


def by_rest(service: str, action: str, given: Members) -> Request | None:
    """Returns None if botocore cannot write a surrogate into a path."""
    operation = operation_of(service, action, "rest")
    try:
        asked = scheduler_actions.SERIALIZER.serialize_to_request(given, operation)
    except UnicodeEncodeError:
        return None
    body = asked["body"] if isinstance(asked["body"], bytes) else b""
    query = urlencode(asked["query_string"], doseq=True, errors="surrogatepass")
    return Request(asked["method"], asked["url_path"], query, (("Content-Type", "application/json"),), body)


WRITERS: dict[str, Any] = {"json": by_json, "query": by_query, "rest": by_rest}
TABLES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "sqs": (sqs_actions.GOOD, ("json", "query")),
    "sns": (sns_actions.GOOD, ("json", "query")),
    "scheduler": (scheduler_actions.GOOD, ("rest",)),
}
CASES = [
    (service, action, protocol)
    for service, (table, protocols) in TABLES.items()
    for action in table
    for protocol in protocols
]


class Caller:
    """Prepares valid calls and sends invalid calls to the container."""

    def __init__(self, deployments: Deployments, clock: Clock) -> None:
        self._sqs = Sqs(deployments, clock, "container", "json")
        sns = Sns(Sqs(deployments, clock, "container", "query"))
        self._by_service = {"sqs": self._sqs, "sns": sns, "scheduler": Scheduler(self._sqs)}

    def good(self, service: str, action: str) -> Members:
        needs: Members = TABLES[service][0][action].needs(self._by_service[service])
        return needs

    def send(self, asked: Request) -> Response:
        url = f"{self._sqs.endpoint_url}{asked.path}" + (f"?{asked.query}" if asked.query else "")
        headers = [*asked.headers, ("Host", "queues.example")]
        response = client_setup.request(asked.method, url, headers=headers, content=asked.body)
        return Response(response.status_code, list(response.headers.items()), response.content)


@pytest.fixture
def caller(deployments: Deployments, clock: Clock) -> Caller:
    return Caller(deployments, clock)


def is_refused(response: Response) -> bool:
    """Returns whether the status is 4xx or a batch entry failed with a sender's fault."""
    failed = b'"SenderFault":true' in response.body or b"<SenderFault>true" in response.body
    return 400 <= response.status < 500 or (response.status == 200 and failed)


@pytest.mark.parametrize(("service", "action", "protocol"), CASES)
def test_no_text_is_our_mistake(caller: Caller, service: str, action: str, protocol: str) -> None:
    """The service can accept a document with an escaped character, because PostgreSQL can store that text."""
    good = caller.good(service, action)
    shape = operation_of(service, action, protocol).input_shape
    tried = [
        ((action, path), text, with_text(copy.deepcopy(good), path, text))
        for path in (texts(shape) if shape else ())
        for text in tried_texts(path)
    ]
    if action in ATTRIBUTES:
        tried += [
            ((action, (name,)), text, with_attribute(good, action, name, text))
            for name in ATTRIBUTES[action][1]
            for text in tried_texts((name,))
        ]
    wrong = []
    for where, text, given in tried:
        asked = WRITERS[protocol](service, action, given)
        response = caller.send(asked) if asked else None
        must_be_refused = text in UNSTORABLE and where not in UNUSED
        if response and (response.status >= 500 or (must_be_refused and not is_refused(response))):
            wrong.append((where, text, response.status, response.body[:200]))
    assert wrong == []
