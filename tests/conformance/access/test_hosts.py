"""Whose name a request has in Host, in both deployments and in each API's form of errors. 421: RFC 9110, 15.5.20."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.conformance.access_keys import OWNER, PRESENCE, SIGV4
from tests.support.conformance.raw_requests import FORM, Raw
from tests.support.conformance.sdk_clients import REGION

EVIL = {"host": "rebind.evil.example:9324"}
JSON = {"x-amz-target": "AmazonSQS.ListQueues", "content-type": "application/x-amz-json-1.0"}
CREDENTIALS = {
    "authorization": "AWS4-HMAC-SHA256 Credential=test/20250101/us-east-1/sqs/aws4_request, Signature=0"
}


def told(document: Any, name: str) -> str:
    """The sentence in an error."""
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
    answers = (by_json, by_form, by_get, scheduler, native, transaction)
    assert {answer.status_code for answer in answers} == {421}
    sentences = (
        told(by_json.json(), "message"), by_form.text, by_get.text, told(scheduler.json(), "Message"),
        told(native.json()["error"], "message"), transaction.text,
    )  # fmt: skip
    assert all("QUEUE_ALLOWED_HOSTS" in sentence for sentence in sentences)
    assert raw.http.get(f"{url}/v1/cert", headers=EVIL).status_code in {200, 404}  # public, whatever the name


def test_names_that_need_no_setting(raw: Raw) -> None:
    for host in ("penstock:9324", "penstock.default.svc.cluster.local", "10.0.0.1", "[::1]:9324"):
        answer = raw.json("ListQueues", {"QueueNamePrefix": "none"}, host=host)
        assert answer.status_code == 200, host


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
    answer = raw.http.post(url, content=b"{}", headers={**dict(signed.headers.items()), **EVIL})
    assert answer.status_code == 200, json.dumps(answer.json())
