"""Tests which callers can end a subscription if requests are signed, in both deployments.

The sources are Unsubscribe ("If the subscription requires authentication for deletion, only the owner of the
subscription or the topic's owner can unsubscribe, and an Amazon Web Services signature is required"),
ConfirmSubscription, and AuthenticateOnUnsubscribe (SNS API reference).
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support import client_setup
from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4
from tests.support.conformance.requests import FORM
from tests.support.conformance.sdk_clients import REGION
from tests.support.conformance.sns import Sns, confirmation, endpoint

pytestmark = pytest.mark.parametrize("sqs", ["container-query", "lambda-query"], indirect=True)

VERSION = {"Version": "2010-03-31"}


@pytest.fixture
def owner(sns: Sns, keys: dict[str, tuple[str, str]]) -> Sns:
    return Sns(sns.sqs.with_settings(SIGV4).with_key(*keys[OWNER]))


@pytest.fixture
def stranger(sns: Sns, keys: dict[str, tuple[str, str]]) -> Sns:
    return Sns(sns.sqs.with_settings(SIGV4).with_key(*keys[PARTNER]))


def unsigned(sns: Sns, way: str, **parameters: str) -> httpx.Response:
    """Sends an unsigned GET or POST with all parameters in the URL, or a POST with a form."""
    text, url = urlencode({**VERSION, **parameters}), f"{sns.sqs.endpoint_url}/"
    if way == "form":
        return client_setup.post(url, content=text.encode(), headers={"content-type": FORM})
    return client_setup.request(way, f"{url}?{text}", headers={"content-type": FORM})


WAYS = ("GET", "POST", "form")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("protocol", ["sqs", "https"])
def test_an_unsigned_request_that_knows_the_subscription_ends_it(
    owner: Sns, stranger: Sns, protocol: str, way: str
) -> None:
    """Every message contains the UnsubscribeURL, even a message to a queue. If the request is signed, the signer must
    have the right.
    """
    topic = owner.create()
    if protocol == "sqs":
        url, arn = owner.queue(topic)
        owner.publish(topic)
        assert arn in owner.notification(url)["UnsubscribeURL"]
    else:
        to = endpoint(owner)
        arn = owner.subscribe(topic, to, "https")
        token = confirmation(owner, to)["Token"]
        done = unsigned(owner, way, Action="ConfirmSubscription", TopicArn=topic, Token=token)
        assert done.status_code == 200
    assert stranger.refusal("unsubscribe", SubscriptionArn=arn)[:2] == ("AuthorizationError", 403)
    assert owner.subscription(arn)["PendingConfirmation"] == "false"
    assert unsigned(owner, way, Action="Unsubscribe", SubscriptionArn=arn).status_code == 200
    assert owner.refusal("get_subscription_attributes", SubscriptionArn=arn)[0] == "NotFound"


@pytest.mark.parametrize("way", WAYS)
def test_unless_it_was_confirmed_with_authenticate_on_unsubscribe(owner: Sns, stranger: Sns, way: str) -> None:
    topic, to = owner.create(), endpoint(owner)
    arn = owner.subscribe(topic, to, "https")
    given = {"TopicArn": topic, "Token": confirmation(owner, to)["Token"], "AuthenticateOnUnsubscribe": "true"}
    refused = unsigned(owner, way, Action="ConfirmSubscription", **given)
    assert (refused.status_code, "AuthorizationError" in refused.text) == (403, True)
    owner.client.confirm_subscription(**given)
    assert owner.subscription(arn)["ConfirmationWasAuthenticated"] == "true"
    refused = unsigned(owner, way, Action="Unsubscribe", SubscriptionArn=arn)
    assert (refused.status_code, "AuthorizationError" in refused.text) == (403, True)
    assert stranger.refusal("unsubscribe", SubscriptionArn=arn)[:2] == ("AuthorizationError", 403)
    owner.client.unsubscribe(SubscriptionArn=arn)
    assert owner.refusal("get_subscription_attributes", SubscriptionArn=arn)[0] == "NotFound"


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("Action=Unsubscribe&SubscriptionArn=a&Action=ListTopics", ""),
        ("Action=Unsubscribe&SubscriptionArn=a", "Action=ListTopics"),
        ("Action=ListTopics", "Action=Unsubscribe&SubscriptionArn=a&Action=ListTopics"),
        ("", "Action=Unsubscribe&SubscriptionArn=a&Action=ListTopics"),
        ("", "Action=ListTopics"),
        ("", "Action=Unsubscribe&SubscriptionArn=a&Padding=" + "x" * 5_000),
    ],
)
def test_a_link_to_unsubscribe_admits_no_other_request(owner: Sns, query: str, form: str) -> None:
    url = f"{owner.sqs.endpoint_url}/?{query}"
    response = client_setup.post(url, content=form.encode(), headers={"content-type": FORM})
    assert (response.status_code, "MissingAuthenticationToken" in response.text) == (403, True)


# --- links -----------------------------------------------------------------------------------------------------------
# Tests that links in SNS messages never contain a host from an unsigned request or an unsigned header, in both
# deployments. Messages: "Parsing message formats" (SNS Developer Guide).


EVIL = {"host": "evil.example"}
LINKS = ("SubscribeURL", "SigningCertURL")


def roots(message: Mapping[str, str], *names: str) -> set[str]:
    """Returns the scheme and the host of the message's links."""
    return {message[name].partition("//")[0] + "//" + message[name].split("/")[2] for name in names}


def own_root(sns: Sns) -> str:
    """Returns the address that links have without QUEUE_BASE_URL: a container that listens on a loopback address has
    its own address."""
    return sns.sqs.endpoint_url if sns.sqs.deployment == "container" else "http://localhost:9324"


@pytest.mark.parametrize(
    ("settings", "host", "root"),
    [
        (SIGV4, "evil.example", ""),
        (SIGV4, "169.254.169.254", ""),
        ({**SIGV4, "QUEUE_TRUST_FORWARDED": "true"}, "evil.example", ""),
        ({**SIGV4, "QUEUE_BASE_URL": "https://q.example.com"}, "evil.example", "https://q.example.com"),
        ({**SIGV4, "QUEUE_ALLOWED_HOSTS": "q.example.com"}, "q.example.com", "http://q.example.com"),
    ],
)
def test_a_reader_of_a_link_does_not_choose_the_next_one(
    sns: Sns, keys: dict[str, tuple[str, str]], settings: Mapping[str, str], host: str, root: str
) -> None:
    signed = Sns(sns.sqs.with_settings(settings).with_key(*keys[OWNER]))
    topic, to = signed.create(), endpoint(signed)
    arn = signed.subscribe(topic, to, "https")
    signed.client.confirm_subscription(TopicArn=topic, Token=confirmation(signed, to)["Token"])
    headers = {"host": host, "x-forwarded-host": host if host == "q.example.com" else "evil.example"}
    query = f"Action=Unsubscribe&SubscriptionArn={arn}"
    response = client_setup.get(f"{signed.sqs.endpoint_url}/?{query}", headers=headers)
    assert response.status_code == 200, response.text
    message = confirmation(signed, to, "UnsubscribeConfirmation")
    assert roots(message, *LINKS) == {root or own_root(signed)}
    assert "evil" not in str(message)


def test_a_publisher_does_not_choose_the_link_by_the_host_that_it_signs(
    sns: Sns, keys: dict[str, tuple[str, str]]
) -> None:
    """The request is valid, but the service does not use the signed Host name in links."""
    owner = Sns(sns.sqs.with_settings(SIGV4).with_key(*keys[OWNER]))
    topic = owner.create()
    url, _ = owner.queue(topic)
    body = f"Action=Publish&Version=2010-03-31&Message=m&TopicArn={topic}".encode()
    asked = AWSRequest("POST", f"http://{EVIL['host']}/", headers={"content-type": FORM}, data=body)
    SigV4Auth(Credentials(*keys[OWNER]), "sns", REGION).add_auth(asked)
    response = client_setup.post(owner.sqs.endpoint_url, content=body, headers={**dict(asked.headers.items()), **EVIL})
    assert response.status_code == 200, response.text
    message = owner.notification(url)
    assert roots(message, "SigningCertURL", "UnsubscribeURL") == {own_root(owner)}


@pytest.mark.parametrize(
    ("settings", "root"), [({}, None), ({"QUEUE_ALLOWED_HOSTS": "*.example"}, "http://evil.example")]
)
def test_a_forwarded_host_must_be_allowed(sns: Sns, settings: Mapping[str, str], root: str | None) -> None:
    there = Sns(sns.sqs.with_settings({"QUEUE_TRUST_FORWARDED": "true", **settings}))
    topic = there.create()
    url, _ = there.queue(topic)
    body = f"Action=Publish&Version=2010-03-31&Message=m&TopicArn={topic}".encode()
    headers = {"content-type": FORM, "x-forwarded-host": "evil.example"}
    assert client_setup.post(there.sqs.endpoint_url, content=body, headers=headers).status_code == 200
    message = there.notification(url)
    assert roots(message, "SigningCertURL", "UnsubscribeURL") == {root or there.sqs.endpoint_url}
