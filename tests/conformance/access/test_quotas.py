"""Tests an account's quotas. The sources are the quotas of SNS and EventBridge Scheduler (AWS General Reference).
Penstock chose the error OverLimit (SQS API reference), because AWS does not limit the number of queues. For webhooks,
Penstock chose the error Throttled (botocore's model of SNS).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from tests.support.conformance.access_keys import ENCRYPTION_KEY, OWNER, PRESENCE, SIGV4, new_key
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.events import Events
from tests.support.conformance.requests import FORM, Raw
from tests.support.conformance.scheduler import ROLE, Scheduler
from tests.support.conformance.sdk_clients import REGION
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs, read_refusal
from tests.support.conformance.webhooks import configure, create_for_github

KINDS = (
    "QUEUES", "TOPICS", "SUBSCRIPTIONS", "SCHEDULES", "PLATFORM_ENDPOINTS", "EVENT_SUBSCRIBERS", "EVENT_SOURCES",
)  # fmt: skip
SETTINGS = {**{f"QUOTA_{kind}": "2" for kind in KINDS}, "QUEUE_ENCRYPTION_KEY": ENCRYPTION_KEY}
_accounts = count(700_000_000_000)


@pytest.fixture
def caller(sqs: Sqs) -> Sqs:
    """Returns an account that has no resources."""
    return sqs.with_settings(SETTINGS).caller(account=str(next(_accounts)))


def test_a_creation_over_the_quota_of_queues_is_refused(caller: Sqs) -> None:
    names = [caller.name() for _ in range(3)]
    for name in names[:2]:
        caller.client.create_queue(QueueName=name)
    refusal = caller.refusal("create_queue", QueueName=names[2])
    assert (refusal.code, refusal.status) == ("OverLimit", 403)
    assert refusal.message == "An account can have 2 queues."
    url = caller.client.create_queue(QueueName=names[0])["QueueUrl"]  # the queue exists
    caller.client.delete_queue(QueueUrl=url)
    caller.client.create_queue(QueueName=names[2])


def test_topics_and_subscriptions(caller: Sqs) -> None:
    sns = Sns(caller)
    topic, _ = sns.create(), sns.create()
    assert sns.refusal("create_topic", Name=caller.name())[:2] == ("TopicLimitExceeded", 403)
    sns.client.create_topic(Name=topic.rpartition(":")[2])
    arns = [f"arn:aws:sqs:us-east-1:{caller.account}:{caller.name()}" for _ in range(3)]
    subscriptions = [sns.subscribe(topic, arn) for arn in arns[:2]]
    third = {"TopicArn": topic, "Protocol": "sqs", "Endpoint": arns[2]}
    assert sns.refusal("subscribe", **third)[:2] == ("SubscriptionLimitExceeded", 403)
    sns.client.unsubscribe(SubscriptionArn=subscriptions[0])
    sns.client.subscribe(**third)


def test_endpoints_of_mobile_apps(caller: Sqs) -> None:
    """At the quota, CreatePlatformEndpoint still returns a token's existing endpoint, because the action "is
    idempotent" (API reference).
    """
    sns = Sns(caller)
    secret = {"PlatformCredential": "secret"}
    name = caller.name()
    made = sns.client.create_platform_application(Name=name, Platform="GCM", Attributes=secret)
    app = made["PlatformApplicationArn"]
    create = sns.client.create_platform_endpoint
    arns = [create(PlatformApplicationArn=app, Token=token)["EndpointArn"] for token in ("a", "b")]
    third = {"PlatformApplicationArn": app, "Token": "c"}
    refused = sns.refusal("create_platform_endpoint", **third)
    assert refused == ("InvalidParameter", 400, "An account can have 2 platform endpoints.")
    assert create(PlatformApplicationArn=app, Token="a")["EndpointArn"] == arns[0]
    sns.client.delete_endpoint(EndpointArn=arns[0])
    create(**third)


def test_a_creation_over_the_quota_of_schedules_is_refused(scheduler: Scheduler) -> None:
    caller = scheduler.of(scheduler.sqs.with_settings(SETTINGS).caller(account=str(next(_accounts))))
    target = {"Arn": f"arn:aws:sqs:us-east-1:{caller.sqs.account}:q", "RoleArn": ROLE}
    given: list[dict[str, Any]] = [caller.given(Name=caller.sqs.name(), Target=target) for _ in range(3)]
    create: Callable[..., Any] = caller.client.create_schedule
    for members in given[:2]:
        create(**members)
    assert caller.refused("create_schedule", **given[2]) == ("ServiceQuotaExceededException", 402)
    caller.client.update_schedule(**given[0])
    caller.client.delete_schedule(Name=given[0]["Name"])
    create(**given[2])


def test_subscribers_of_an_event_bus(events: Events) -> None:
    """Quotas of the custom event bus (Amazon EventBridge User Guide): a number of subscribers for each bus."""
    caller = events.of(events.sqs.with_settings(SETTINGS).caller(account=str(next(_accounts))))
    bus, other = caller.bus(), caller.bus()
    first, _ = caller.subscriber(bus, Name="a"), caller.subscriber(bus, Name="b")
    refusal = caller.refusal("create_subscriber", **caller.given(bus, Name="c"))
    assert refusal[:2] == ("LimitExceededException", 400)
    assert refusal.message == "An event bus can have 2 subscribers."
    exists = caller.refused("create_subscriber", **caller.given(bus, Name="a"))
    assert exists == ("ResourceAlreadyExistsException", 409)
    caller.subscriber(other, Name="c")
    caller.client.delete_subscriber(SubscriberArn=first)
    caller.subscriber(bus, Name="c")


def test_event_sources(events: Events) -> None:
    """Quotas of the custom event bus: a number of event sources in an account and region."""
    account = str(next(_accounts))
    caller = events.of(events.sqs.with_settings(SETTINGS).caller(account=account))
    bus = caller.bus()
    for _ in range(2):
        create_for_github(caller, bus)
    webhook = configure("BasicHttp", {}, account)
    refusal = caller.refusal("create_event_source", Name="more", EventBusArn=bus, Configuration=webhook)
    assert refusal[:2] == ("LimitExceededException", 400)
    assert refusal.message == "An account can have 2 event sources."


# --- webhooks that wait ----------------------------------------------------------------------------------------------
Count = Callable[[], None]


@pytest.fixture
def count_webhooks(clock: Clock) -> Iterator[Count]:
    """Returns a function that counts webhooks as the worker `maintain` does, with a quota of two."""

    def find(most: int) -> None:
        clock.connection.execute("select queue.find_delivery_excess(%s)", (most,))

    yield lambda: find(2)
    find(0)


def test_webhooks_of_a_topic(sqs: Sqs, count_webhooks: Count) -> None:
    """The service stores no part of a refused publish. Topics without URLs and topics of other accounts still work."""
    caller = sqs.caller(account=str(next(_accounts)))
    sns, database = Sns(caller), caller.clock.connection
    topic, quiet = sns.create(), sns.create()
    url, _ = sns.queue(topic)
    sns.queue(quiet)
    arn = sns.subscribe(topic, "https://example.com/", "https")
    database.execute("update queue.subscription set confirmed = true where arn = %s", (arn,))
    sns.publish(topic)
    count_webhooks()  # the confirmation counts as well
    code, status, text = sns.refusal("publish", TopicArn=topic, Message="no")
    assert (code, status) == ("Throttled", 429)
    assert text == "1000000 deliveries of an account can wait."
    assert sns.response.headers is not None
    assert sns.response.headers["retry-after"] == "1"
    entries = [{"Id": "a", "Message": "no"}]
    assert sns.refusal("publish_batch", TopicArn=topic, PublishBatchRequestEntries=entries)[0] == "Throttled"
    sns.publish(quiet)
    other = Sns(caller.caller(account=str(next(_accounts))))
    other.publish(other.create())
    assert caller.receive_one(url)["Body"]
    database.execute("delete from queue.outgoing_delivery where account_id = %s", (caller.account,))
    count_webhooks()
    sns.publish(topic)


def test_messages_for_the_gateway(sqs: Sqs) -> None:
    """The quota for the gateway's messages is separate from the quota for webhooks, so webhooks still work."""
    caller = sqs.caller(account=str(next(_accounts)))
    sns, database = Sns(caller), caller.clock.connection
    topic, phone = sns.create(), "+15550100123"
    sns.subscribe(topic, phone, "sms")
    database.execute("insert into queue.delivery_excess values (%s, 'sms', 1, clock_timestamp())", (caller.account,))
    text = "1000000 deliveries of an account can wait."
    for target in ({"TopicArn": topic}, {"PhoneNumber": phone}):
        assert sns.refusal("publish", Message="no", **target) == ("Throttled", 429, text)
    refused = sns.refusal("create_sms_sandbox_phone_number", PhoneNumber=phone)
    assert refused == ("Throttled", 429, text)
    sns.publish(sns.create())
    database.execute("delete from queue.delivery_excess where account_id = %s", (caller.account,))
    sns.publish(topic)


def test_webhooks_of_events(raw: Raw, clock: Clock, count_webhooks: Count) -> None:
    url, key = raw.sqs.endpoint_url, raw.sqs.name()
    to = {"protocol": "https", "endpoint": "https://example.com/"}
    bound = raw.http.post(f"{url}/v1/events/{key}/subscriptions", json=to)
    assert bound.status_code == 201, bound.text
    for _ in range(2):
        assert raw.http.post(f"{url}/v1/events/{key}", json={"message": {}}).status_code == 201
    count_webhooks()
    event = raw.http.post(f"{url}/v1/events/{key}", json={"message": {}})
    queue = raw.sqs.create().rpartition("/")[2]
    transaction = raw.http.post(
        f"{url}/v1/transactions",
        json={"send": [{"queue": queue, "message": "no"}], "publish": [{"routing_key": key, "message": {}}]},
    )
    for refused in (event, transaction):
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json()["error"]["code"] == "too_many_requests"
    assert raw.http.get(f"{url}/v1/queues/{queue}").json()["visible"] == 0
    assert raw.http.post(f"{url}/v1/events/{key}.unbound", json={"message": {}}).status_code == 201
    clock.connection.execute("delete from queue.outgoing_delivery where account_id = '000000000000'")
    count_webhooks()
    assert raw.http.post(f"{url}/v1/events/{key}", json={"message": {}}).status_code == 201


# --- request rate ----------------------------------------------------------------------------------------------------
# Tests the limit on requests per second, in both deployments and with the error format of each API. The sources are
# RequestThrottled (SQS API reference), ThrottledException (SNS, botocore's model), ThrottlingException (EventBridge
# Scheduler, botocore's model), and Retry-After: RFC 9110, 10.2.3. docs/operate/quotas.md says which callers share a
# rate.


RATE = {"QUOTA_REQUESTS_PER_SECOND": "1", "QUEUE_TRUST_FORWARDED": "true"}
MANY = 100
_addresses = (f"198.51.{n // 250}.{n % 250}" for n in count(1))
_limited_accounts = count(710_000_000_000)
Ask = Callable[[str, str], httpx.Response]


def credentials(account: str, service: str = "sqs") -> dict[str, str]:
    scope = f"{account}/20250101/{REGION}/{service}/aws4_request"
    return {"authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"}


def requests_of(raw: Raw, settings: Mapping[str, str]) -> dict[str, Ask]:
    """Returns a function that sends a request to each API from the given address and account."""
    raw = Raw(raw.sqs.with_settings(settings), raw.http)
    url = raw.sqs.endpoint_url

    def from_(address: str, account: str, service: str = "sqs") -> dict[str, str]:
        return {"x-forwarded-for": f"203.0.113.1, {address}", **credentials(account, service)}

    json = {"x-amz-target": "AmazonSQS.ListQueues", "content-type": "application/x-amz-json-1.0"}
    form = {"content-type": FORM}
    post, get = raw.http.post, raw.http.get
    topics = b"Action=ListTopics&Version=2010-03-31"
    return {
        "sqs json": lambda *who: post(url, content=b"{}", headers={**json, **from_(*who)}),
        "sqs query": lambda *who: post(url, content=b"Action=ListQueues", headers={**form, **from_(*who)}),
        "sns query": lambda at, who: post(url, content=topics, headers={**form, **from_(at, who, "sns")}),
        "scheduler": lambda at, who: get(f"{url}/schedules", headers=from_(at, who, "scheduler")),
        "native": lambda *who: get(f"{url}/v1/queues", headers=from_(*who)),
        "transaction": lambda *who: post(f"{url}/v1/transactions", json={}, headers=from_(*who)),
        "events": lambda at, who: raw.cbor("ListEventBuses", {}, "AWSEventsV2", **from_(at, who, "events")),
    }


def repeat(call: Callable[[], object]) -> None:
    for _ in range(MANY):
        call()


def code_of(api: str, response: httpx.Response) -> str:
    if api == "scheduler":
        return response.headers["x-amzn-errortype"]
    if api in ("native", "transaction"):
        return str(response.json()["error"]["code"])
    protocol = "cbor" if api == "events" else "json" if api.endswith("json") else "query"
    return read_refusal(protocol, response.status_code, response.headers, response.content).code


CODES = {
    "sqs json": ("RequestThrottled", 400),
    "sqs query": ("RequestThrottled", 400),
    "sns query": ("Throttled", 429),
    "scheduler": ("ThrottlingException", 429),
    "native": ("too_many_requests", 429),
    "transaction": ("too_many_requests", 429),
    "events": ("ThrottlingException", 429),
}


@pytest.mark.parametrize("api", CODES)
@pytest.mark.parametrize("access", [{}, PRESENCE], ids=["off", "presence"])
def test_where_nobody_signs_an_address_is_a_caller(raw: Raw, access: Mapping[str, str], api: str) -> None:
    """The service counts requests by address, because a client can invent accounts at no cost."""
    ask = requests_of(raw, {**RATE, **access})[api]
    address, other = next(_addresses), next(_addresses)
    responses = (ask(address, f"{n:012d}") for n in range(MANY))
    refusal = next(response for response in responses if response.headers.get("retry-after"))
    assert (code_of(api, refusal), refusal.status_code) == CODES[api]
    assert refusal.headers["retry-after"] == "1"
    assert "retry-after" not in ask(other, "000000000000").headers


def test_where_requests_are_signed_an_account_is_a_caller(sqs: Sqs) -> None:
    """Another account can still send requests from the address of the limited account."""
    signed = sqs.with_settings({**SIGV4, **RATE})
    owner, partner = (
        signed.with_key(*new_key(sqs.deployments.database, str(next(_limited_accounts)))) for _ in range(2)
    )
    with pytest.raises(ClientError, match="RequestThrottled"):
        repeat(owner.client.list_queues)
    assert owner.response.status == 400
    assert owner.response.headers is not None
    assert owner.response.headers["retry-after"] == "1"
    partner.client.list_queues()


def test_a_signed_request_of_sns_is_refused_in_its_own_form(sns: Sns) -> None:
    signed = sns.sqs.with_settings({**SIGV4, **RATE})
    caller = Sns(signed.with_key(*new_key(signed.deployments.database, str(next(_limited_accounts)))))
    with pytest.raises(ClientError, match="Throttled") as refused:
        repeat(caller.client.list_topics)
    assert refused.value.response["Error"]["Code"] == "Throttled"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 429


def test_links_that_anybody_may_follow_count_for_the_address(raw: Raw) -> None:
    url = raw.sqs.with_settings({**SIGV4, **RATE}).endpoint_url
    address = next(_addresses)

    def unsubscribe(address: str) -> httpx.Response:
        arn = f"arn:aws:sns:{REGION}:{OWNER}:news:00000000-0000-0000-0000-000000000000"
        return raw.http.get(
            f"{url}/?Action=Unsubscribe&Version=2010-03-31&SubscriptionArn={arn}", headers={"x-forwarded-for": address}
        )

    responses = (unsubscribe(address) for _ in range(MANY))
    assert next(response.status_code for response in responses if response.headers.get("retry-after")) == 429
    assert "retry-after" not in unsubscribe(next(_addresses)).headers
