"""Tests which Host names a request can use, in both deployments and with the error format of each API.

RFC 9110, 15.5.20, defines the status 421. QUEUE_REGIONS limits an installation to some regions. An AWS endpoint answers
SignatureDoesNotMatch to a request that was signed for another region ("Troubleshoot Signature Version 4 signing for AWS
API requests", IAM User Guide, "Credential scope"). The service refuses the target of a schedule when a client sets the
target, which is Penstock's choice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.conformance.access_keys import OWNER, PRESENCE, SIGV4
from tests.support.conformance.requests import FORM, Raw
from tests.support.conformance.scheduler import ROLE, Scheduler
from tests.support.conformance.sdk_clients import REGION
from tests.support.conformance.sns import Sns, confirmation, endpoint
from tests.support.conformance.sqs import Sqs

EVIL = {"host": "rebind.evil.example:9324"}
JSON = {"x-amz-target": "AmazonSQS.ListQueues", "content-type": "application/x-amz-json-1.0"}
CREDENTIALS = {"authorization": "AWS4-HMAC-SHA256 Credential=test/20250101/us-east-1/sqs/aws4_request, Signature=0"}


def told(document: Any, name: str) -> str:
    """Returns the message of the error."""
    text = str(document[name])
    assert "rebind.evil.example" in text
    return text


@pytest.mark.parametrize("settings", [{}, PRESENCE], ids=["off", "presence"])
def test_another_name_is_refused(raw: Raw, settings: Mapping[str, str]) -> None:
    url = raw.sqs.with_settings(settings).endpoint_url
    headers = {**EVIL, **CREDENTIALS}
    by_json = raw.http.post(url, content=b"{}", headers={**JSON, **headers})
    assert by_json.json()["__type"] == "com.amazon.coral.service#MisdirectedRequest"
    assert by_json.headers["x-amzn-query-error"] == "MisdirectedRequest;Sender"
    by_form = raw.http.post(url, content=b"Action=ListQueues", headers={"content-type": FORM, **headers})
    assert "<Code>MisdirectedRequest</Code>" in by_form.text
    by_get = raw.http.get(f"{url}/?Action=ListTopics&Version=2010-03-31", headers=headers)
    assert "<Code>MisdirectedRequest</Code>" in by_get.text
    scheduler = raw.http.get(f"{url}/schedules", headers=headers)
    assert scheduler.headers["x-amzn-errortype"] == "MisdirectedRequest"
    native = raw.http.get(f"{url}/v1/queues", headers=headers)
    assert native.json()["error"]["code"] == "misdirected_request"
    transaction = raw.http.post(f"{url}/v1/transactions", json={}, headers=headers)
    assert transaction.json()["error"]["code"] == "misdirected_request"
    responses = (by_json, by_form, by_get, scheduler, native, transaction)
    assert {response.status_code for response in responses} == {421}
    sentences = (
        told(by_json.json(), "message"), by_form.text, by_get.text, told(scheduler.json(), "Message"),
        told(native.json()["error"], "message"), transaction.text,
    )  # fmt: skip
    assert all("QUEUE_ALLOWED_HOSTS" in sentence for sentence in sentences)
    assert raw.http.get(f"{url}/v1/cert", headers=EVIL).status_code in {200, 404}  # the certificate is public


def test_names_that_need_no_setting(raw: Raw) -> None:
    for host in ("penstock:9324", "penstock.default.svc.cluster.local", "10.0.0.1", "[::1]:9324"):
        response = raw.json("ListQueues", {"QueueNamePrefix": "none"}, host=host)
        assert response.status_code == 200, host


@pytest.mark.parametrize(
    "settings",
    [
        {"QUEUE_ALLOWED_HOSTS": "queues.example, *.evil.example"},
        {"QUEUE_ALLOWED_HOSTS": "*"},
        {"QUEUE_BASE_URL": "https://rebind.evil.example"},
    ],
)
def test_names_that_the_settings_allow(raw: Raw, settings: Mapping[str, str]) -> None:
    url = raw.sqs.with_settings(settings).endpoint_url
    assert raw.http.post(url, content=b"{}", headers={**JSON, **EVIL}).status_code == 200
    assert raw.http.get(f"{url}/v1/queues", headers=EVIL).status_code == 200


def test_a_signature_vouches_for_the_name(raw: Raw, keys: dict[str, tuple[str, str]]) -> None:
    url = raw.sqs.with_settings(SIGV4).endpoint_url
    signed = AWSRequest("POST", f"http://{EVIL['host']}/", headers=JSON, data=b"{}")
    SigV4Auth(Credentials(*keys[OWNER]), "sqs", REGION).add_auth(signed)
    response = raw.http.post(url, content=b"{}", headers={**dict(signed.headers.items()), **EVIL})
    assert response.status_code == 200, json.dumps(response.json())


SERVED = {"QUEUE_REGION": "eu-west-1", "QUEUE_REGIONS": "eu-west-1, eu-central-1", "QUEUE_PEEK_ENDPOINT": "true"}
BODY = {"QueueNamePrefix": "none"}


def scope(region: str) -> str:
    return f"AWS4-HMAC-SHA256 Credential=test/20250101/{region}/sqs/aws4_request, Signature=0"


def test_a_request_uses_the_region_of_its_signature(sqs: Sqs) -> None:
    name = sqs.name()
    served = [sqs.with_settings(SERVED).caller(region=region) for region in ("eu-west-1", "eu-central-1")]
    url = ""
    for caller in served:
        url = caller.client.create_queue(QueueName=name)["QueueUrl"]
        assert caller.arn(url).split(":")[3] == caller.region
        caller.send(url, caller.region)
    urls = [caller.client.get_queue_url(QueueName=name)["QueueUrl"] for caller in served]
    bodies = [caller.receive_one(url)["Body"] for caller, url in zip(served, urls, strict=True)]
    assert bodies == ["eu-west-1", "eu-central-1"]
    stranger = sqs.with_settings(SERVED).caller(region="us-east-1")
    for refusal in (
        stranger.refusal("create_queue", QueueName=name),
        stranger.refusal("send_message", QueueUrl=url, MessageBody="m"),
    ):
        assert (refusal.code, refusal.status) == ("SignatureDoesNotMatch", 403)
        assert refusal.message == "Credential should be scoped to a valid region, not 'us-east-1'."
    gone = "AWS.SimpleQueueService.NonExistentQueue"  # a URL of a region that is not served names no queue
    assert served[0].code("purge_queue", QueueUrl=f"http://h/us-east-1/000000000000/{name}") == gone
    assert Sns(stranger).refusal("create_topic", Name=name)[:2] == ("SignatureDoesNotMatch", 403)
    # The request does not create a queue.
    assert sqs.code("get_queue_url", QueueName=name) == "AWS.SimpleQueueService.NonExistentQueue"


def test_signed_requests(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> None:
    served = sqs.with_settings({**SERVED, **SIGV4}).with_key(*keys[OWNER])
    assert served.caller(region="eu-central-1").client.list_queues(QueueNamePrefix="none")
    assert served.caller(region="us-east-1").code("list_queues") == "SignatureDoesNotMatch"


def test_a_request_that_names_no_region_belongs_to_the_services(raw: Raw) -> None:
    """A request without a credential scope belongs to QUEUE_REGION."""
    here = Raw(raw.sqs.with_settings(SERVED), raw.http)
    assert here.json("ListQueues", BODY).status_code == 200
    assert here.json("ListQueues", BODY, authorization=scope("eu-west-1")).status_code == 200
    assert here.json("ListQueues", BODY, authorization=scope("eu-west-2")).status_code == 403
    for region, status in (("eu-west-1", 200), ("eu-west-2", 403)):
        credential = f"X-Amz-Credential=test%2F20250101%2F{region}%2Fsqs%2Faws4_request"
        assert here.get("/", f"Action=ListQueues&QueueNamePrefix=none&{credential}").status_code == status


def test_the_peek_endpoint(raw: Raw) -> None:
    here = raw.sqs.with_settings(SERVED)
    responses = [
        raw.http.get(f"{here.endpoint_url}/_aws/sqs/messages/{region}/000000000000/none").status_code
        for region in ("eu-west-1", "us-east-1")
    ]
    assert responses == [400, 403]  # the queue does not exist; the region does not exist


def test_arns_of_other_regions(sqs: Sqs) -> None:
    here = sqs.with_settings(SERVED).caller(region="eu-west-1")
    sns, name = Sns(here), here.name()
    topic = sns.client.create_topic(Name=name)["TopicArn"]
    foreign = topic.replace("eu-west-1", "us-east-1")
    subscription = {"TopicArn": topic, "Protocol": "sqs", "Endpoint": foreign.replace(":sns:", ":sqs:")}
    assert sns.refusal("subscribe", **subscription)[:2] == ("InvalidParameter", 400)
    assert sns.refusal("publish", TopicArn=foreign, Message="m")[:2] == ("InvalidParameter", 400)


@pytest.mark.parametrize("foreign", ["target", "dead letters"])
def test_a_schedule_refuses_a_queue_of_another_region(scheduler: Scheduler, foreign: str) -> None:
    here = scheduler.of(scheduler.sqs.with_settings(SERVED).caller(region="eu-west-1"))
    own = f"arn:aws:sqs:eu-central-1:{'0' * 12}:jobs"
    other = own.replace("eu-central-1", "us-east-1")
    target: dict[str, Any] = {"Arn": own, "RoleArn": ROLE, "DeadLetterConfig": {"Arn": own}}
    given = here.given(Name=here.name(), Target=target)
    changed = {**target, **({"Arn": other} if foreign == "target" else {"DeadLetterConfig": {"Arn": other}})}
    refusal = here.refusal("create_schedule", **{**given, "Target": changed})
    assert (refusal.code, refusal.status) == ("ValidationException", 400)
    path = "target.arn" if foreign == "target" else "target.deadLetterConfig.arn"
    assert refusal.message.startswith(f"1 validation error detected: Value '{other}' at '{path}' ")
    assert here.refused("get_schedule", Name=given["Name"])[0] == "ResourceNotFoundException"
    here.client.create_schedule(**given)


# --- browsers --------------------------------------------------------------------------------------------------------
# Tests that web pages of other sites cannot use either deployment.
#
# The sources are Fetch Metadata Request Headers (W3C), RFC 6454 (Origin), and ConfirmSubscription and Unsubscribe,
# which take no credentials (SNS API reference).

CROSS_SITE = {"sec-fetch-site": "cross-site"}
CHROME = {
    "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36",
}
JAVA = {"accept": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "user-agent": "Java/17.0.2"}
PICTURE = {"accept": "image/avif,image/webp,*/*;q=0.8", **CROSS_SITE}
CREATE = {"content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.CreateQueue"}


@pytest.mark.parametrize("settings", [{}, PRESENCE, SIGV4], ids=["off", "presence", "sigv4"])
@pytest.mark.parametrize("page", [CROSS_SITE, {"sec-fetch-site": "same-site"}, {"origin": "http://evil.example"}])
def test_pages_of_other_sites_change_nothing(raw: Raw, settings: Mapping[str, str], page: Mapping[str, str]) -> None:
    name = raw.sqs.name()
    url = raw.sqs.with_settings(settings).endpoint_url
    headers = {**page, "authorization": "Bearer x"}
    form = f"Action=CreateQueue&QueueName={name}"
    responses = [
        raw.http.get(f"{url}/?{form}", headers=page),
        raw.http.post(url, content=form.encode(), headers={"content-type": FORM, **headers}),
        raw.http.post(url, json={"QueueName": name}, headers={**headers, **CREATE}),
        raw.http.post(f"{url}/schedules/{name}", json={}, headers=headers),
        raw.http.post(f"{url}/v1/queues", json={"name": name}, headers=headers),
        raw.http.post(f"{url}/v1/transactions", json={}, headers=headers),
        raw.http.get(f"{url}/v1/queues", headers=headers),
    ]
    assert {response.status_code for response in responses} == {403}
    assert all("QUEUE_ALLOWED_HOSTS" in response.text for response in responses)
    assert raw.sqs.code("get_queue_url", QueueName=name) == "AWS.SimpleQueueService.NonExistentQueue"


def test_pages_of_hosts_that_are_named(raw: Raw) -> None:
    settings = {"QUEUE_ALLOWED_HOSTS": "app.example.com"}
    url = raw.sqs.with_settings(settings).endpoint_url
    page = {"origin": "https://app.example.com:8443", **CROSS_SITE}
    assert raw.http.get(f"{url}/v1/queues", headers=page).status_code == 200
    other = {"origin": "https://evil.example.com", **CROSS_SITE}
    assert raw.http.get(f"{url}/v1/queues", headers=other).status_code == 403


def test_the_services_own_pages_are_admitted(raw: Raw) -> None:
    url = raw.sqs.endpoint_url
    own = {"origin": url, "sec-fetch-site": "same-origin"}
    assert raw.http.get(f"{url}/v1/queues", headers=own).status_code == 200
    assert raw.http.get(f"{url}/v1/queues", headers={"sec-fetch-site": "none"}).status_code == 200


# --- links of SNS messages -------------------------------------------------------------------------------------------
def check_page(response: httpx.Response, button: str, arn: str) -> None:
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = response.headers["content-security-policy"]
    for part in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"):
        assert part in policy.split("; ")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["x-amzn-requestid"]
    assert f"<button>{button}</button>" in response.text
    assert arn in response.text
    assert '<form method="post">' in response.text
    assert not re.search(r"<script|<img|<link|https?:|javascript", response.text)


@pytest.fixture(params=[{}, SIGV4], ids=["off", "sigv4"])
def topics(request: pytest.FixtureRequest, sns: Sns, keys: dict[str, tuple[str, str]]) -> Sns:
    """Returns SNS clients of the owner, with and without signatures."""
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
        response = raw.http.get(f"{raw.sqs.endpoint_url}/?{query}", headers=CHROME)
        assert "&lt;script&gt;" in response.text
        assert "<script" not in response.text


def test_another_action_does_not_hide_behind_the_link(raw: Raw) -> None:
    """If the URL contains two actions, the service does not treat the request as a link, so the response is not a
    page."""
    query = "Action=Unsubscribe&SubscriptionArn=a&Action=ListQueues"
    response = raw.http.get(f"{raw.sqs.endpoint_url}/?{query}", headers=CHROME)
    assert "<ListQueuesResponse" in response.text
    response = raw.http.get(f"{raw.sqs.endpoint_url}/?{query}", headers={**CHROME, **CROSS_SITE})
    assert response.status_code == 403
    signed = raw.sqs.with_settings(SIGV4).endpoint_url
    assert raw.http.get(f"{signed}/?{query}", headers=CHROME).status_code == 403
