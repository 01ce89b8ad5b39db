"""Requests a second, in both deployments and in each API's form of errors.

Sources: RequestThrottled (SQS API reference), ThrottledException (SNS, botocore's model), ThrottlingException
(EventBridge Scheduler, botocore's model); Retry-After: RFC 9110, 10.2.3. Whom the rate is for: docs/security.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

import httpx
import pytest
from botocore.exceptions import ClientError

from tests.support.conformance.access_keys import OWNER, PRESENCE, SIGV4, new_key
from tests.support.conformance.raw_requests import FORM, Raw
from tests.support.conformance.sdk_clients import REGION
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs, read_refusal

RATE = {"QUOTA_REQUESTS_PER_SECOND": "1", "QUEUE_TRUST_FORWARDED": "true"}
MANY = 100
_addresses = (f"198.51.{n // 250}.{n % 250}" for n in count(1))
_accounts = count(710_000_000_000)
Ask = Callable[[str, str], httpx.Response]


def credentials(account: str, service: str = "sqs") -> dict[str, str]:
    scope = f"{account}/20250101/{REGION}/{service}/aws4_request"
    return {"authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"}


def requests_of(raw: Raw, settings: Mapping[str, str]) -> dict[str, Ask]:
    """A request of each API, from an address (a proxy's word for it) and with an account (the client's own)."""
    url = raw.sqs.with_settings(settings).endpoint_url

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
    }


def repeat(call: Callable[[], object]) -> None:
    for _ in range(MANY):
        call()


def code_of(api: str, answer: httpx.Response) -> str:
    if api == "scheduler":
        return answer.headers["x-amzn-errortype"]
    if api in ("native", "transaction"):
        return str(answer.json()["error"]["code"])
    protocol = "json" if api.endswith("json") else "query"
    return read_refusal(protocol, answer.status_code, answer.headers, answer.content).code


CODES = {
    "sqs json": ("RequestThrottled", 400),
    "sqs query": ("RequestThrottled", 400),
    "sns query": ("Throttled", 429),
    "scheduler": ("ThrottlingException", 429),
    "native": ("too_many_requests", 429),
    "transaction": ("too_many_requests", 429),
}


@pytest.mark.parametrize("api", CODES)
@pytest.mark.parametrize("access", [{}, PRESENCE], ids=["off", "presence"])
def test_where_nobody_signs_an_address_is_a_caller(raw: Raw, access: Mapping[str, str], api: str) -> None:
    """An account costs nothing to make up, so another one does not help; another address is another client."""
    ask = requests_of(raw, {**RATE, **access})[api]
    address, other = next(_addresses), next(_addresses)
    answers = (ask(address, f"{n:012d}") for n in range(MANY))
    refusal = next(answer for answer in answers if answer.headers.get("retry-after"))
    assert (code_of(api, refusal), refusal.status_code) == CODES[api]
    assert refusal.headers["retry-after"] == "1"
    assert "retry-after" not in ask(other, "000000000000").headers


def test_where_requests_are_signed_an_account_is_a_caller(sqs: Sqs) -> None:
    """Another account goes on, from the same address."""
    signed = sqs.with_settings({**SIGV4, **RATE})
    owner, partner = (
        signed.with_key(*new_key(sqs.deployments.database, str(next(_accounts)))) for _ in range(2)
    )
    with pytest.raises(ClientError, match="RequestThrottled"):
        repeat(owner.client.list_queues)
    assert owner.answer.status == 400
    assert owner.answer.headers is not None
    assert owner.answer.headers["retry-after"] == "1"
    partner.client.list_queues()


def test_a_signed_request_of_sns_is_refused_in_its_own_form(sns: Sns) -> None:
    signed = sns.sqs.with_settings({**SIGV4, **RATE})
    caller = Sns(signed.with_key(*new_key(signed.deployments.database, str(next(_accounts)))))
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
            f"{url}/?Action=Unsubscribe&Version=2010-03-31&SubscriptionArn={arn}",
            headers={"x-forwarded-for": address},
        )

    answers = (unsubscribe(address) for _ in range(MANY))
    assert next(answer.status_code for answer in answers if answer.headers.get("retry-after")) == 429
    assert "retry-after" not in unsubscribe(next(_addresses)).headers
