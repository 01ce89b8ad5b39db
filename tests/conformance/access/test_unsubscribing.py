"""Rights to end a subscription if requests are signed, in both deployments. Sources: Unsubscribe ("If the subscription
requires authentication for deletion, only the owner of the subscription or the topic's owner can unsubscribe, and an
Amazon Web Services signature is required"), ConfirmSubscription, AuthenticateOnUnsubscribe (SNS API reference).
"""

from __future__ import annotations

from urllib.parse import urlencode

import httpx
import pytest

from tests.conformance.sns.test_subscriptions import confirmation, endpoint
from tests.support import plain_http
from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4
from tests.support.conformance.raw_requests import FORM
from tests.support.conformance.sns import Sns

pytestmark = pytest.mark.parametrize("sqs", ["container-query", "lambda-query"], indirect=True)

VERSION = {"Version": "2010-03-31"}


@pytest.fixture
def owner(sns: Sns, keys: dict[str, tuple[str, str]]) -> Sns:
    return Sns(sns.sqs.with_settings(SIGV4).with_key(*keys[OWNER]))


@pytest.fixture
def stranger(sns: Sns, keys: dict[str, tuple[str, str]]) -> Sns:
    return Sns(sns.sqs.with_settings(SIGV4).with_key(*keys[PARTNER]))


def unsigned(sns: Sns, way: str, **parameters: str) -> httpx.Response:
    """GET or POST with all in the address, or POST with a form."""
    text, url = urlencode({**VERSION, **parameters}), f"{sns.sqs.endpoint_url}/"
    if way == "form":
        return plain_http.post(url, content=text.encode(), headers={"content-type": FORM})
    return plain_http.request(way, f"{url}?{text}", headers={"content-type": FORM})


WAYS = ("GET", "POST", "form")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("protocol", ["sqs", "https"])
def test_whoever_knows_the_subscription_ends_it_without_a_signature(
    owner: Sns, stranger: Sns, protocol: str, way: str
) -> None:
    """The UnsubscribeURL is in every message, of queues too. A signature counts, though, for whose it is."""
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
def test_unless_it_was_confirmed_with_authenticate_on_unsubscribe(
    owner: Sns, stranger: Sns, way: str
) -> None:
    topic, to = owner.create(), endpoint(owner)
    arn = owner.subscribe(topic, to, "https")
    given = {
        "TopicArn": topic,
        "Token": confirmation(owner, to)["Token"],
        "AuthenticateOnUnsubscribe": "true",
    }
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
def test_nothing_else_passes_as_such_a_link(owner: Sns, query: str, form: str) -> None:
    url = f"{owner.sqs.endpoint_url}/?{query}"
    answer = plain_http.post(url, content=form.encode(), headers={"content-type": FORM})
    assert (answer.status_code, "MissingAuthenticationToken" in answer.text) == (403, True)
