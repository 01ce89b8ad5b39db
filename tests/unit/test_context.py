"""Tests a caller's queue addresses: name, URL and ARN."""

from base64 import b64encode

import pytest

from penstock.access.users import build_user
from penstock.aws.arn import (
    MAX_NAME_LENGTH,
    _resolve_queue,
    is_queue_name,
    parse_queue_arn,
    resolve_queue,
    resolve_queue_arn,
)
from penstock.aws.queue_url import resolve
from penstock.context import Context
from penstock.effects import Call
from penstock.environment import Environment
from penstock.errors import QueueDoesNotExist
from penstock.http import HttpRequest
from penstock.postgres.statement import Statement
from penstock.postgres.statements.messages import (
    DELETE_MESSAGES,
    SEND_MESSAGES,
    TRANSACT,
    DeletedRow,
    ReceiptHandle,
    SendEntry,
    VisibilityEntry,
)
from penstock.postgres.statements.queues import DROP_QUEUE, SET_QUEUE_ATTRIBUTES, TAG_QUEUE, QueueErrorRow
from penstock.settings import Settings


def context(headers: dict[bytes, bytes] | None = None, **variables: str) -> Context:
    settings = Settings.read({"QUEUE_REGION": "eu-west-1", **variables})
    environment = Environment(settings, None)  # type: ignore[arg-type] # no receipts here
    http = HttpRequest("POST", "/", b"", {b"host": b"sqs.local:9324"} if headers is None else headers, b"")
    return Context("123456789012", "eu-west-1", "id", environment, http)


FORWARDED = {b"host": b"inside:1", b"x-forwarded-proto": b"https, http", b"x-forwarded-host": b"q.example.com, lb"}
ALLOWED = {"QUEUE_ALLOWED_HOSTS": "*.example.com"}


@pytest.mark.parametrize(
    ("headers", "variables", "url"),
    [
        (None, {}, "http://sqs.local:9324/123456789012/q"),
        (FORWARDED, {}, "http://inside:1/123456789012/q"),
        (FORWARDED, {"QUEUE_TRUST_FORWARDED": "true"}, "https://inside:1/123456789012/q"),
        (FORWARDED, {"QUEUE_TRUST_FORWARDED": "true", **ALLOWED}, "https://q.example.com/123456789012/q"),
        (FORWARDED, ALLOWED, "http://inside:1/123456789012/q"),
        (
            {b"host": b"h", b"x-forwarded-proto": b"https"},
            {"QUEUE_TRUST_FORWARDED": "true"},
            "https://h/123456789012/q",
        ),
        ({b"host": b"h"}, {"QUEUE_TRUST_FORWARDED": "true"}, "http://h/123456789012/q"),
        (FORWARDED, {"QUEUE_BASE_URL": "https://fixed/sqs/"}, "https://fixed/sqs/123456789012/q"),
        ({}, {"QUEUE_ADDRESS": "127.0.0.1:9324"}, "http://127.0.0.1:9324/123456789012/q"),
    ],
)
def test_a_queue_url_leads_back_to_where_the_caller_came(
    headers: dict[bytes, bytes] | None, variables: dict[str, str], url: str
) -> None:
    found = context(headers, **variables)
    assert found.queue_url("q") == url
    assert found.queue_arn(url) == "arn:aws:sqs:eu-west-1:123456789012:q"


SIGV4 = {"QUEUE_ACCESS": "sigv4", "QUEUE_ENCRYPTION_KEY": b64encode(bytes(32)).decode()}
LOCAL = "http://localhost:9324"


@pytest.mark.parametrize(
    ("host", "variables", "signed", "url"),
    [
        (b"10.0.0.1:80", {}, False, "http://10.0.0.1:80"),
        (b"10.0.0.1:80", SIGV4, True, "http://10.0.0.1:80"),
        (b"10.0.0.1:80", SIGV4, False, LOCAL),
        (b"evil.example", SIGV4, False, LOCAL),
        (b"evil.example", SIGV4, True, LOCAL),
        (b"evil.example", {**SIGV4, "QUEUE_ALLOWED_HOSTS": "*"}, False, LOCAL),
        (b"evil.example", {**SIGV4, "QUEUE_ADDRESS": "[::1]:9400"}, False, "http://[::1]:9400"),
        (b"evil.example", {**SIGV4, "QUEUE_BASE_URL": "https://q.example.com/"}, False, "https://q.example.com"),
        (b"q.example.com", {**SIGV4, **ALLOWED}, False, "http://q.example.com"),
        (b"q.example.com", {**SIGV4, **ALLOWED}, True, "http://q.example.com"),
    ],
)
def test_links_lead_where_somebody_vouches_for(host: bytes, variables: dict[str, str], signed: bool, url: str) -> None:
    found = context({b"host": host}, **variables)
    found.user = build_user("123456789012", None, None) if signed else None
    assert found.link_base_url == url


def test_links_lead_to_the_name_that_api_gateway_serves() -> None:
    name = b"a1.execute-api.eu-central-1.amazonaws.com"
    environment = Environment(Settings.read(SIGV4), None)  # type: ignore[arg-type] # no receipts here
    http = HttpRequest("GET", "/", b"", {b"host": name}, b"", host_checked=True)
    found = Context("123456789012", "eu-west-1", "id", environment, http)
    assert found.link_base_url == f"http://{name.decode()}"


def test_the_host_of_links_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    found = context({b"host": b"evil.example"}, **SIGV4)
    assert [found.link_base_url for _ in range(3)] == [LOCAL] * 3
    (record,) = caplog.records
    assert "QUEUE_BASE_URL" in record.__dict__["cause"]


def test_the_url_of_another_accounts_queue() -> None:
    assert context().queue_url("q.fifo", "999999999999") == "http://sqs.local:9324/999999999999/q.fifo"


@pytest.mark.parametrize(
    ("url", "queue"),
    [
        ("https://sqs.us-east-1.amazonaws.com/000000000000/q", "us-east-1:000000000000:q"),
        ("http://sqs.us-east-1.localhost:4566/000000000000/q", "us-east-1:000000000000:q"),
        ("https://sqs-fips.us-east-1.amazonaws.com/000000000000/q", "us-east-1:000000000000:q"),
        ("https://vpce-1a-2b.sqs.us-east-1.vpce.amazonaws.com/000000000000/q", "us-east-1:000000000000:q"),
        ("https://us-east-1.queue.amazonaws.com/000000000000/q", "us-east-1:000000000000:q"),
        ("https://sqs.eu-west-1.amazonaws.com/177715257436/MyQueue/", "eu-west-1:177715257436:MyQueue"),
        ("http://anything:1/some/prefix/999999999999/q.fifo", "eu-west-1:999999999999:q.fifo"),
        ("http://us-east-1/999999999999/q", "eu-west-1:999999999999:q"),
        ("http://h/us-east-1/999999999999/q", "us-east-1:999999999999:q"),
        ("http://h/prefix/us-gov-west-1/999999999999/q", "us-gov-west-1:999999999999:q"),
        ("/us-east-1/999999999999/q", "us-east-1:999999999999:q"),
        ("/999999999999/q", "eu-west-1:999999999999:q"),
        ("999999999999/q//", "eu-west-1:999999999999:q"),
        ("q", "eu-west-1:123456789012:q"),
        ("/q", "eu-west-1:123456789012:q"),
    ],
)
def test_any_host_is_accepted(url: str, queue: str) -> None:
    assert context().queue_arn(url) == f"arn:aws:sqs:{queue}"


def test_regions_with_names_of_their_own() -> None:
    """The names of such regions come from the request and from QUEUE_REGIONS."""
    here = context(QUEUE_REGIONS="eu-west-1, cellar")
    assert here.queue_arn("http://h/cellar/999999999999/q") == "arn:aws:sqs:cellar:999999999999:q"
    assert context().queue_arn("http://h/cellar/999999999999/q") == "arn:aws:sqs:eu-west-1:999999999999:q"
    with pytest.raises(QueueDoesNotExist):
        here.queue_arn("http://h/us-east-1/999999999999/q")


def test_the_url_of_another_region() -> None:
    assert context(QUEUE_REGION="us-east-1").queue_url("q") == "http://sqs.local:9324/eu-west-1/123456789012/q"


@pytest.mark.parametrize(
    "url", ["", "/", "http://h/", "http://h/q", "http://h/12345/q", "http://h/000000000000/", "a/q"]
)
def test_an_address_without_account_and_name_is_of_no_queue(url: str) -> None:
    with pytest.raises(QueueDoesNotExist):
        context().queue_arn(url)


@pytest.mark.parametrize("name", ["a b", "a.b", "x" * 81, "q\x00", "q'"])
def test_a_name_that_no_queue_can_have_is_a_queue_that_does_not_exist(name: str) -> None:
    with pytest.raises(QueueDoesNotExist):
        context().queue_arn(f"http://h/000000000000/{name}")


# --- ARNs ------------------------------------------------------------------------------------------------------------
def test_arns_are_read_back() -> None:
    text = resolve_queue_arn("us-east-1", "000000000000", "q.fifo")
    assert text == "arn:aws:sqs:us-east-1:000000000000:q.fifo"
    parsed = parse_queue_arn(text)
    assert parsed is not None
    assert (parsed.region, parsed.account_id, parsed.name, parsed.fifo) == ("us-east-1", "000000000000", "q.fifo", True)
    assert str(parsed) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "q",
        "arn:aws:sns:us-east-1:000000000000:q",
        "arn:aws:sqs:us-east-1:0:q",
        "arn:aws:sqs:us-east-1:000000000000:",
        "arn:aws:sqs:us-east-1:000000000000:a:b",
        "arn:aws:sqs:US:000000000000:q",
        "arn:aws:sqs:us-east-1:000000000000:q\n",
    ],
)
def test_texts_that_are_no_arns(text: str) -> None:
    assert parse_queue_arn(text) is None


def test_both_types_may_have_eighty_characters() -> None:
    assert is_queue_name("x" * 80)
    assert is_queue_name("x" * 75 + ".fifo")
    assert not is_queue_name("x" * 76 + ".fifo")


@pytest.mark.parametrize("path", ["123456789012/" + "q" * 60_000, "p" * 60_000 + "/123456789012/q", "q" * 60_000])
def test_a_longer_text_than_a_queue_url_is_not_cached(path: str) -> None:
    """A body can contain a QueueUrl of 2 MiB, and the cache stores the URLs of thousands of requests."""
    remembered = resolve.cache_info().currsize
    with pytest.raises(QueueDoesNotExist):
        context().queue_arn(f"http://h/{path}")
    assert resolve.cache_info().currsize == remembered


def test_a_longer_text_than_a_name_is_not_cached() -> None:
    """A transaction over the REST API can name a thousand queues."""
    assert resolve_queue("eu-west-1", "123456789012", "q" * MAX_NAME_LENGTH) is not None
    remembered = _resolve_queue.cache_info().currsize
    assert resolve_queue("eu-west-1", "123456789012", "q" * (MAX_NAME_LENGTH + 1)) is None
    assert _resolve_queue.cache_info().currsize == remembered


# --- effects ---------------------------------------------------------------------------------------------------------
# Checks that effects and statements agree.


def test_a_transaction_begins_with_the_columns_of_its_handles_and_messages() -> None:
    handles, messages = len(ReceiptHandle._fields), len(SendEntry._fields)
    assert TRANSACT.types[:handles] == DELETE_MESSAGES.types
    assert TRANSACT.types[handles : handles + messages] == SEND_MESSAGES.types[:messages]


def test_a_changed_visibility_begins_with_the_handle() -> None:
    assert VisibilityEntry._fields[:-1] == ReceiptHandle._fields


def test_a_statement_calls_its_function_with_typed_parameters() -> None:
    assert TAG_QUEUE.text == 'select "error", "detail" from queue.tag_queue($1::text, $2::jsonb, $3::int4)'
    assert DROP_QUEUE.text == "select * from queue.drop_queue($1::text)"


def test_rows_of_a_response_get_their_names() -> None:
    (row,) = SET_QUEUE_ATTRIBUTES.build_rows([["QueueDoesNotExist"]])
    assert row == QueueErrorRow("QueueDoesNotExist")
    assert row.error == "QueueDoesNotExist"


def test_an_effect_yields_itself_and_returns_what_it_is_sent() -> None:
    call = Call(SET_QUEUE_ATTRIBUTES, ("arn", "{}"))
    steps = iter(call)
    assert next(steps) is call
    rows = [QueueErrorRow(None)]
    with pytest.raises(StopIteration) as stop:
        steps.send(rows)
    assert stop.value.value is rows


def test_the_last_parameters_may_be_named() -> None:
    """The next release can insert a parameter with a default before the last parameters, while the current release
    still calls the function."""
    statement = Statement("queue.f", ("text[]", "int4", "bool"), DeletedRow, named=("p_b", "p_c"))
    assert statement.text == 'select "n", "outcome" from queue.f($1::text[], p_b => $2::int4, p_c => $3::bool)'
