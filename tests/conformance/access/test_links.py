"""Where the links of SNS messages lead, in both deployments: never to a host that only an unsigned request, or a header
that no signature covers, has named. Messages: "Parsing message formats" (SNS Developer Guide).
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.conformance.sns.test_subscriptions import confirmation, endpoint
from tests.support import plain_http
from tests.support.conformance.access_keys import OWNER, SIGV4
from tests.support.conformance.raw_requests import FORM
from tests.support.conformance.sdk_clients import REGION
from tests.support.conformance.sns import Sns

pytestmark = pytest.mark.parametrize("sqs", ["container-query", "lambda-query"], indirect=True)

EVIL = {"host": "evil.example"}
LINKS = ("SubscribeURL", "SigningCertURL")


def roots(message: Mapping[str, str], *names: str) -> set[str]:
    """Scheme and host of links."""
    return {message[name].partition("//")[0] + "//" + message[name].split("/")[2] for name in names}


@pytest.mark.parametrize(
    ("settings", "host", "root"),
    [
        (SIGV4, "evil.example", "http://localhost:9324"),
        (SIGV4, "169.254.169.254", "http://localhost:9324"),
        ({**SIGV4, "QUEUE_TRUST_FORWARDED": "true"}, "evil.example", "http://localhost:9324"),
        ({**SIGV4, "QUEUE_BASE_URL": "https://q.example.com"}, "evil.example", "https://q.example.com"),
        ({**SIGV4, "QUEUE_ALLOWED_HOSTS": "q.example.com"}, "q.example.com", "http://q.example.com"),
    ],
)
def test_whoever_follows_the_link_does_not_choose_the_next_one(
    sns: Sns, keys: dict[str, tuple[str, str]], settings: Mapping[str, str], host: str, root: str
) -> None:
    signed = Sns(sns.sqs.with_settings(settings).with_key(*keys[OWNER]))
    topic, to = signed.create(), endpoint(signed)
    arn = signed.subscribe(topic, to, "https")
    signed.client.confirm_subscription(TopicArn=topic, Token=confirmation(signed, to)["Token"])
    headers = {"host": host, "x-forwarded-host": host if host == "q.example.com" else "evil.example"}
    query = f"Action=Unsubscribe&SubscriptionArn={arn}"
    answer = plain_http.get(f"{signed.sqs.endpoint_url}/?{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    message = confirmation(signed, to, "UnsubscribeConfirmation")
    assert roots(message, *LINKS) == {root}
    assert "evil" not in str(message)


def test_nor_does_a_publisher_by_the_name_that_it_signs(sns: Sns, keys: dict[str, tuple[str, str]]) -> None:
    """The request is good, for a name that the service does not know."""
    owner = Sns(sns.sqs.with_settings(SIGV4).with_key(*keys[OWNER]))
    topic = owner.create()
    url, _ = owner.queue(topic)
    body = f"Action=Publish&Version=2010-03-31&Message=m&TopicArn={topic}".encode()
    asked = AWSRequest("POST", f"http://{EVIL['host']}/", headers={"content-type": FORM}, data=body)
    SigV4Auth(Credentials(*keys[OWNER]), "sns", REGION).add_auth(asked)
    answer = plain_http.post(
        owner.sqs.endpoint_url, content=body, headers={**dict(asked.headers.items()), **EVIL}
    )
    assert answer.status_code == 200, answer.text
    message = owner.notification(url)
    assert roots(message, "SigningCertURL", "UnsubscribeURL") == {"http://localhost:9324"}


@pytest.mark.parametrize(
    ("settings", "root"), [({}, None), ({"QUEUE_ALLOWED_HOSTS": "*.example"}, "http://evil.example")]
)
def test_a_forwarded_host_must_be_allowed(sns: Sns, settings: Mapping[str, str], root: str | None) -> None:
    there = Sns(sns.sqs.with_settings({"QUEUE_TRUST_FORWARDED": "true", **settings}))
    topic = there.create()
    url, _ = there.queue(topic)
    body = f"Action=Publish&Version=2010-03-31&Message=m&TopicArn={topic}".encode()
    headers = {"content-type": FORM, "x-forwarded-host": "evil.example"}
    assert plain_http.post(there.sqs.endpoint_url, content=body, headers=headers).status_code == 200
    message = there.notification(url)
    assert roots(message, "SigningCertURL", "UnsubscribeURL") == {root or there.sqs.endpoint_url}
