"""Tests which hosts a request can name. HTTP: The sources are RFC 9110, 7.2 (Host) and 15.5.20 (421)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock import errors
from penstock.access.audit.refusals import (
    MAX_CALLERS,
    OTHERS,
    Refusals,
    count_refusal,
    note_reading,
    note_refusal,
    watch_refusals,
)
from penstock.access.authorization import find_refusing_policies
from penstock.access.denial import Policies, build_action_name, build_denial
from penstock.access.hosts import MAX_DECISIONS, MAX_HOST_LENGTH, Hosts
from penstock.access.policy.evaluation import Decision
from penstock.access.policy.requests import Principal
from penstock.effects import Call, Operation
from penstock.environment import Environment
from penstock.errors import AccessDenied, MisdirectedRequest
from penstock.gateway import RejectedRequest, decode
from penstock.http import HttpRequest
from penstock.settings import Settings


def hosts(**variables: str) -> Hosts:
    return Hosts(Settings.read(variables))


NEED_NO_ENTRY = [
    b"", b"localhost", b"localhost:9324", b"LOCALHOST.", b"127.0.0.1:9324", b"10.1.2.3", b"[::1]", b"[fd00::1]:9324",
    b"penstock:9324", b"my_service", b"penstock.default.svc", b"penstock.default.svc.cluster.local:80",
    b"host.docker.internal:9324", b"a.b.localhost",
]  # fmt: skip
NEED_ONE = [
    b"evil.example", b"evil.example:9324", b"localhost.evil.example", b"127.0.0.1.evil.example", b"evil.internal.com",
    b"svc.cluster.local.evil.example", b"x.cluster.local", b"1.2.3.4.5", b"a.b.c.d", b"notinternal.example.svcc",
    b"localhost,evil", b"a/b", b"a@b", b"[::1]x", b"[::1].evil.example", b"loc\xe4l", b"a b", b"localhost:9324x",
    b"abc.execute-api.us-east-1.amazonaws.com", b"lb-1.us-east-1.elb.amazonaws.com", b"x" * 300 + b".example",
]  # fmt: skip


@pytest.mark.parametrize("host", NEED_NO_ENTRY)
def test_a_name_that_nobody_outside_can_lead_here(host: bytes) -> None:
    assert hosts().allows(host)
    assert not hosts().names(host)


@pytest.mark.parametrize("host", NEED_ONE)
def test_other_names_need_an_entry(host: bytes) -> None:
    known = hosts()
    assert [known.allows(host), known.allows(host)] == [False, False]
    assert hosts(QUEUE_ALLOWED_HOSTS="*").allows(host)


@pytest.mark.parametrize(
    ("variables", "host", "verdict"),
    [
        ({"QUEUE_ALLOWED_HOSTS": "queues.example.com"}, b"Queues.Example.com.:443", True),
        ({"QUEUE_ALLOWED_HOSTS": "queues.example.com"}, b"a.queues.example.com", False),
        ({"QUEUE_ALLOWED_HOSTS": " a.example , *.Example.com,"}, b"a.b.example.com", True),
        ({"QUEUE_ALLOWED_HOSTS": "*.example.com"}, b"example.com", False),
        ({"QUEUE_ALLOWED_HOSTS": "*.example.com"}, b"evilexample.com", False),
        ({"QUEUE_ALLOWED_HOSTS": "*.example.com"}, b"queues.example.com.evil.example", False),
        ({"QUEUE_BASE_URL": "https://queues.example.com:8443/x"}, b"queues.example.com", True),
        ({"QUEUE_BASE_URL": "https://queues.example.com"}, b"other.example.com", False),
        ({"SNS_CERT_HOST": "sns.us-east-1.amazonaws.com"}, b"sns.us-east-1.amazonaws.com", True),
    ],
)
def test_the_settings_name_hosts(variables: dict[str, str], host: bytes, verdict: bool) -> None:
    known = hosts(**variables)
    assert (known.allows(host), known.names(host)) == (verdict, verdict)


def test_an_asterisk_names_nothing() -> None:
    """A signature needs a host that the configuration lists."""
    assert not hosts(QUEUE_ALLOWED_HOSTS="*").names(b"evil.example")


def test_strangers_do_not_fill_the_memory() -> None:
    known = hosts()
    for number in range(3 * MAX_DECISIONS):
        known.allows(b"h%d.example" % number)
    assert not known.allows(b"x" * MAX_HOST_LENGTH + b".example")
    assert len(known._decisions) <= MAX_DECISIONS
    assert max(map(len, known._decisions)) <= MAX_HOST_LENGTH


@pytest.mark.parametrize("access", ["off", "presence"])
def test_a_request_for_another_host_is_not_read(access: str) -> None:
    environment = Environment(Settings.read({"QUEUE_ACCESS": access}), None)  # type: ignore[arg-type]
    headers = {b"host": b"evil.example", b"authorization": b"x"}
    http = HttpRequest("POST", "/", b"", headers, b"Action=Nothing")
    with pytest.raises(RejectedRequest) as caught:
        decode(http, environment)
    assert isinstance(caught.value.error, MisdirectedRequest)
    assert "evil.example" in caught.value.error.message
    assert "QUEUE_ALLOWED_HOSTS" in caught.value.error.message
    known = HttpRequest("POST", "/", b"", headers, b"Action=ListQueues", host_checked=True)
    assert decode(known, environment).action.name == "ListQueues"


# --- pages -----------------------------------------------------------------------------------------------------------
def page_may_call(headers: dict[str, str], host: str = "queues.internal:9324", **variables: str) -> bool:
    given = {name.encode(): value.encode() for name, value in {"host": host, **headers}.items()}
    try:
        hosts(**variables).check(given, host_checked=False)
    except AccessDenied:
        return False
    return True


@pytest.mark.parametrize("access", ["off", "presence", "sigv4"])
@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://queues.internal"},  # Another port belongs to another program.
        {"origin": "http://queues.internal:9325", "sec-fetch-site": "same-site"},
        {"origin": "https://queues.internal:9324.evil.example"},
        {"origin": "http://queues.internal:9324", "sec-fetch-site": "cross-site"},
    ],
)
def test_pages_of_other_sites_may_not_call(headers: dict[str, str], access: str) -> None:
    assert not page_may_call(headers, QUEUE_ACCESS=access)
    assert not page_may_call(headers, QUEUE_ACCESS=access, QUEUE_BASE_URL="https://queues.example.com")


@pytest.mark.parametrize(
    ("headers", "host", "variables"),
    [
        ({"sec-fetch-site": "none"}, "localhost", {}),
        ({"sec-fetch-site": "same-origin", "origin": "http://localhost:9324"}, "localhost:9324", {}),
        ({"origin": "https://Queues.internal"}, "queues.internal", {}),
        ({"origin": "https://queues.internal"}, "queues.internal:443", {}),
        ({"origin": "http://queues.internal"}, "queues.internal:80", {}),
        ({"origin": "https://q.example.com"}, "task-1", {"QUEUE_BASE_URL": "https://Q.example.com:443/"}),
        ({"origin": "http://app.example.com:3000", "sec-fetch-site": "cross-site"}, "localhost",
         {"QUEUE_ALLOWED_HOSTS": "*.example.com"}),
        ({"origin": "http://localhost:3000", "sec-fetch-site": "same-site"}, "localhost:9324",
         {"QUEUE_ALLOWED_HOSTS": "localhost"}),
        ({"origin": "http://evil.example"}, "localhost", {"QUEUE_ALLOWED_HOSTS": "*"}),
    ],
)  # fmt: skip
def test_pages_of_its_own_and_of_hosts_that_are_named_may(
    headers: dict[str, str], host: str, variables: dict[str, str]
) -> None:
    assert page_may_call(headers, host, **variables)


# --- denial ----------------------------------------------------------------------------------------------------------
# Tests the texts that explain refusals. The sources are "Troubleshoot access denied error messages" (IAM User Guide),
# and AWS's responses in public issues (see the module).


ANN = Principal("111122223333", "arn:aws:iam::111122223333:user/ann")


@pytest.mark.parametrize(
    ("service", "action", "name"),
    [
        ("sqs", "SendMessageBatch", "sqs:sendmessage"),
        ("sqs", "GetQueueUrl", "sqs:getqueueurl"),
        ("sns", "PublishBatch", "SNS:Publish"),
        ("scheduler", "CreateSchedule", "scheduler:CreateSchedule"),
        ("penstock", "ReadOutbox", "penstock:ReadOutbox"),
    ],
)
def test_a_denial_names_the_missing_policy(service: str, action: str, name: str) -> None:
    error = build_denial(build_action_name(service, action), "arn:x", ANN, Policies.IDENTITY)
    assert error.message == (
        f"User: arn:aws:iam::111122223333:user/ann is not authorized to perform: {name} on resource: arn:x "
        f"because no identity-based policy allows the {name} action"
    )


@pytest.mark.parametrize(("policies", "shown"), [(Policies.IDENTITY, "an identity"), (Policies.RESOURCE, "a resource")])
def test_a_deny(policies: Policies, shown: str) -> None:
    error = build_denial("SNS:Publish", "arn:x", ANN, policies, explicit=True)
    assert error.message.endswith(f" on resource: arn:x with an explicit deny in {shown}-based policy")


@pytest.mark.parametrize(
    ("of_user", "of_resource", "foreign", "expected"),
    [
        (Decision.NO_MATCH, Decision.NO_MATCH, False, (Policies.IDENTITY, False)),
        (Decision.DENIED, Decision.DENIED, False, (Policies.IDENTITY, True)),
        (Decision.ALLOWED, Decision.DENIED, False, (Policies.RESOURCE, True)),
        (Decision.ALLOWED, Decision.NO_MATCH, True, (Policies.RESOURCE, False)),
        (Decision.NO_MATCH, Decision.ALLOWED, True, (Policies.IDENTITY, False)),
        # The text does not reveal whether a resource of another account exists or has a policy.
        (Decision.ALLOWED, Decision.DENIED, True, (Policies.RESOURCE, False)),
    ],
)
def test_whose_policies_are_named(
    of_user: Decision, of_resource: Decision, foreign: bool, expected: tuple[Policies, bool]
) -> None:
    assert find_refusing_policies(of_user, [of_resource], foreign=foreign) == expected


# --- refusals --------------------------------------------------------------------------------------------------------
# Tests that the service counts refusals by caller and error, and stores the counts together.


def request(refusals: Refusals, address: str = "192.0.2.1", key_id: str | None = "KEY") -> Any:
    environment = SimpleNamespace(cache=lambda _: refusals)
    return SimpleNamespace(
        account_id="000000000000", user=None, key_id=key_id, client_address=address, interface_name="rest",
        request_id="1",
        environment=environment,
    )  # fmt: skip


def written(operation: Operation[None]) -> list[tuple[Any, ...]]:
    """Runs an operation and returns the rows that the operation writes."""
    rows: list[tuple[Any, ...]] = []
    for effect in operation:
        assert isinstance(effect, Call)
        rows += zip(*effect.arguments, strict=True)
    return rows


def refuse() -> errors.AwsError:
    return errors.AccessDenied("User: u is not authorized to perform: sqs:SendMessage on resource: arn:x because")


def test_the_first_refusal_is_written_at_once_and_others_later() -> None:
    refusals = Refusals()
    first = written(note_refusal(refuse(), request(refusals), "a"))
    assert first == [("000000000000", "rest", None, "KEY", "192.0.2.1", "sqs:SendMessage", "arn:x", "AccessDenied", 1)]
    assert written(note_refusal(refuse(), request(refusals), "a")) == []
    count_refusal(errors.InvalidClientTokenId(), request(refusals), "POST /console/sign-in")
    count_refusal(refuse(), request(refusals), "a")
    refusals._written_at = -100.0  # ten seconds later
    assert [(row[5], row[7], row[8]) for row in written(refusals.write())] == [
        ("sqs:SendMessage", "AccessDenied", 2), ("POST /console/sign-in", "InvalidClientTokenId", 1),
    ]  # fmt: skip
    assert written(refusals.write()) == []


def test_readings_are_counted_for_a_caller_and_a_queue() -> None:
    refusals = Refusals()
    reader = request(refusals)
    assert written(note_reading("arn:q", reader)) == []  # The caller is unknown.
    reader.user = SimpleNamespace(principal=SimpleNamespace(arn="arn:ann"))
    row = ("000000000000", "rest", "arn:ann", "KEY", "192.0.2.1", "penstock:ReadMessages", "arn:q", None, 1)
    assert written(note_reading("arn:q", reader)) == [row]
    for number, arn in ((1, "arn:q"), (2, "arn:q"), (3, "arn:q"), (3, "arn:q"), (3, "arn:other")):
        reader.request_id = str(number)
        assert written(note_reading(arn, reader)) == []
    refusals._written_at = -100.0  # ten seconds later
    assert [(row[6], row[8]) for row in written(refusals.write())] == [("arn:q", 2), ("arn:other", 1)]


def test_a_refusal_is_counted_once_and_other_errors_never() -> None:
    refusals, error = Refusals(), refuse()
    for _ in range(2):
        count_refusal(error, request(refusals), "a")
    count_refusal(errors.QueueDoesNotExist(), request(refusals), "a")
    count_refusal(errors.RequestThrottled(), request(refusals), "a")
    assert [row[8] for row in written(refusals.write())] == [1]


def test_strangers_cannot_fill_the_memory() -> None:
    refusals = Refusals()
    for number in range(3 * MAX_CALLERS):
        count_refusal(errors.InvalidClientTokenId(), request(refusals, f"192.0.2.{number}", "\0" * 900), "a")
    rows = written(refusals.write())
    assert len(rows) == MAX_CALLERS + 1
    assert (rows[-1][4], rows[-1][8]) == (OTHERS, 2 * MAX_CALLERS)
    assert {len(row[3]) for row in rows[:-1]} == {256}


def test_an_operation_that_is_watched_keeps_its_result_and_its_error() -> None:
    def succeed() -> Operation[int]:
        yield from ()
        return 7

    def fail() -> Operation[int]:
        yield from ()
        raise errors.InvalidClientTokenId

    refusals = Refusals()
    with pytest.raises(StopIteration) as end:
        next(watch_refusals(succeed(), request(refusals), "a"))
    assert end.value.value == 7
    with pytest.raises(errors.InvalidClientTokenId):
        assert len(list(watch_refusals(fail(), request(refusals), "a"))) == 1
    assert refusals._counts == {}  # The service wrote the row before it raised the error.
