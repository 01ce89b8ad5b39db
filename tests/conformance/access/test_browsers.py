"""Web pages of other sites can do nothing in either deployment.

Sources: Fetch Metadata Request Headers (W3C); RFC 6454 (Origin); ConfirmSubscription and Unsubscribe, which take no
credentials (SNS API reference).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import httpx
import pytest

from tests.support.conformance.access_keys import OWNER, PRESENCE, SIGV4
from tests.support.conformance.requests import FORM, Raw
from tests.support.conformance.sns import Sns, confirmation, endpoint

CROSS_SITE = {"sec-fetch-site": "cross-site"}
CHROME = {
    "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36",
}
JAVA = {"accept": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "user-agent": "Java/17.0.2"}
PICTURE = {"accept": "image/avif,image/webp,*/*;q=0.8", **CROSS_SITE}
JSON = {"content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.CreateQueue"}


@pytest.mark.parametrize("settings", [{}, PRESENCE, SIGV4], ids=["off", "presence", "sigv4"])
@pytest.mark.parametrize("page", [CROSS_SITE, {"sec-fetch-site": "same-site"}, {"origin": "http://evil.example"}])
def test_pages_of_other_sites_change_nothing(raw: Raw, settings: Mapping[str, str], page: Mapping[str, str]) -> None:
    name = raw.sqs.name()
    url = raw.sqs.with_settings(settings).endpoint_url
    headers = {**page, "authorization": "Bearer x"}
    form = f"Action=CreateQueue&QueueName={name}"
    answers = [
        raw.http.get(f"{url}/?{form}", headers=page),
        raw.http.post(url, content=form.encode(), headers={"content-type": FORM, **headers}),
        raw.http.post(url, json={"QueueName": name}, headers={**headers, **JSON}),
        raw.http.post(f"{url}/schedules/{name}", json={}, headers=headers),
        raw.http.post(f"{url}/v1/queues", json={"name": name}, headers=headers),
        raw.http.post(f"{url}/v1/transactions", json={}, headers=headers),
        raw.http.get(f"{url}/v1/queues", headers=headers),
    ]
    assert {answer.status_code for answer in answers} == {403}
    assert all("QUEUE_ALLOWED_HOSTS" in answer.text for answer in answers)
    assert raw.sqs.code("get_queue_url", QueueName=name) == "AWS.SimpleQueueService.NonExistentQueue"


def test_pages_of_hosts_that_are_named(raw: Raw) -> None:
    settings = {"QUEUE_ALLOWED_HOSTS": "app.example.com"}
    url = raw.sqs.with_settings(settings).endpoint_url
    page = {"origin": "https://app.example.com:8443", **CROSS_SITE}
    assert raw.http.get(f"{url}/v1/queues", headers=page).status_code == 200
    other = {"origin": "https://evil.example.com", **CROSS_SITE}
    assert raw.http.get(f"{url}/v1/queues", headers=other).status_code == 403


def test_its_own_pages(raw: Raw) -> None:
    url = raw.sqs.endpoint_url
    own = {"origin": url, "sec-fetch-site": "same-origin"}
    assert raw.http.get(f"{url}/v1/queues", headers=own).status_code == 200
    assert raw.http.get(f"{url}/v1/queues", headers={"sec-fetch-site": "none"}).status_code == 200


# --- links of SNS messages -------------------------------------------------------------------------------------------
def check_page(answer: httpx.Response, button: str, arn: str) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"]
    for part in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"):
        assert part in policy.split("; ")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-amzn-requestid"]
    assert f"<button>{button}</button>" in answer.text
    assert arn in answer.text
    assert '<form method="post">' in answer.text
    assert not re.search(r"<script|<img|<link|https?:|javascript", answer.text)


@pytest.fixture(params=[{}, SIGV4], ids=["off", "sigv4"])
def topics(request: pytest.FixtureRequest, sns: Sns, keys: dict[str, tuple[str, str]]) -> Sns:
    """Returns SNS for the owner, with and without signatures."""
    return Sns(sns.sqs.with_settings(request.param).with_key(*keys[OWNER]) if request.param else sns.sqs)


@pytest.mark.parametrize("sqs", ["container-query", "lambda-query"], indirect=True)
@pytest.mark.parametrize("site", [CROSS_SITE, {"sec-fetch-site": "none"}, {}])
def test_a_browser_is_asked_before_it_confirms_or_unsubscribes(topics: Sns, site: dict[str, str]) -> None:
    topic, to = topics.create(), endpoint(topics)
    arn = topics.subscribe(topic, to, "https")
    links = [confirmation(topics, to)["SubscribeURL"]]
    base = topics.sqs.endpoint_url
    links.append(f"{base}/?Action=Unsubscribe&SubscriptionArn={arn}")
    button = {"origin": base, "sec-fetch-site": "same-origin", "content-type": FORM, **CHROME}
    with httpx.Client(verify=False) as browser:
        for link, (name, shown, states) in zip(
            links, [("Confirm", topic, ("true", "false")), ("Unsubscribe", arn, ("false", None))], strict=True
        ):
            check_page(browser.get(link, headers={**CHROME, **site}), name, shown)
            assert topics.subscription(arn)["PendingConfirmation"] == states[0]
            assert browser.get(link, headers=PICTURE).status_code == 403
            assert topics.subscription(arn)["PendingConfirmation"] == states[0]
            assert browser.post(link, headers={**button, **CROSS_SITE}).status_code == 403
            done = browser.post(link, headers=button)
            assert (done.status_code, done.headers["content-type"]) == (200, "text/xml")
            if states[1] is not None:
                assert topics.subscription(arn)["PendingConfirmation"] == states[1]
    assert topics.refusal("get_subscription_attributes", SubscriptionArn=arn)[0] == "NotFound"


@pytest.mark.parametrize("sqs", ["container-query", "lambda-query"], indirect=True)
@pytest.mark.parametrize("headers", [{"accept": "*/*"}, JAVA, {"accept": "application/xml"}])
def test_a_program_gets_awss_answer(sns: Sns, headers: dict[str, str]) -> None:
    topic, to = sns.create(), endpoint(sns)
    arn = sns.subscribe(topic, to, "https")
    with httpx.Client(verify=False) as program:
        done = program.get(confirmation(sns, to)["SubscribeURL"], headers=headers)
        assert f"<SubscriptionArn>{arn}</SubscriptionArn>" in done.text
        ended = program.get(f"{sns.sqs.endpoint_url}/?Action=Unsubscribe&SubscriptionArn={arn}", headers=headers)
        assert "<UnsubscribeResponse" in ended.text


def test_the_page_shows_text_as_text(raw: Raw) -> None:
    hostile = "%3Cscript%3Ealert(1)%3C/script%3E%22%3E"
    for query in (
        f"Action=Unsubscribe&SubscriptionArn={hostile}",
        f"Action=ConfirmSubscription&Token=a&TopicArn={hostile}",
    ):
        answer = raw.http.get(f"{raw.sqs.endpoint_url}/?{query}", headers=CHROME)
        assert "&lt;script&gt;" in answer.text
        assert "<script" not in answer.text


def test_another_action_does_not_hide_behind_the_link(raw: Raw) -> None:
    """If the URL names two actions, the service treats the request as no link and answers without a page."""
    query = "Action=Unsubscribe&SubscriptionArn=a&Action=ListQueues"
    answer = raw.http.get(f"{raw.sqs.endpoint_url}/?{query}", headers=CHROME)
    assert "<ListQueuesResponse" in answer.text
    answer = raw.http.get(f"{raw.sqs.endpoint_url}/?{query}", headers={**CHROME, **CROSS_SITE})
    assert answer.status_code == 403
    signed = raw.sqs.with_settings(SIGV4).endpoint_url
    assert raw.http.get(f"{signed}/?{query}", headers=CHROME).status_code == 403
