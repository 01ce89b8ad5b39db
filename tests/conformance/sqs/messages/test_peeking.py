"""Tests QUEUE_PEEK_ENDPOINT, which shows messages without receiving them, in both deployments.

The expected responses come from LocalStack's page on SQS, "Developer endpoints" ("Peeking into queues").
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock_web.rest.errors import HTTP_CODES
from tests.support.conformance.access_keys import OWNER, PARTNER, PRESENCE, SIGV4, allow
from tests.support.conformance.requests import Raw, error, refused
from tests.support.conformance.sdk_clients import build_client
from tests.support.conformance.sqs import ACCOUNT, REGION

PATH = "/_aws/sqs/messages"
PEEK = {"QUEUE_PEEK_ENDPOINT": "true"}


@pytest.fixture
def peek(raw: Raw) -> Raw:
    return raw._replace(sqs=raw.sqs.with_settings(PEEK))


def look(peek: Raw, url: str, **flags: str) -> list[dict[str, Any]]:
    """Peeks with the JSON protocol and returns the messages as a list. The attributes of each message are a dict by
    name."""
    response = peek.http.get(
        f"{peek.sqs.endpoint_url}{PATH}", params={"QueueUrl": url, **flags}, headers={"accept": "application/json"}
    )
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    result = response.json()["ReceiveMessageResponse"]["ReceiveMessageResult"] or {"Message": []}
    messages = result["Message"] if isinstance(result["Message"], list) else [result["Message"]]
    return [{**message, "Attribute": {a["Name"]: a["Value"] for a in message["Attribute"]}} for message in messages]


def test_the_messages_are_seen_and_stay(peek: Raw) -> None:
    """The default format is XML, as in the response of ReceiveMessage with all attributes."""
    url = peek.sqs.create()
    sent = [peek.sqs.send(url, body)["MessageId"] for body in ("hello", "world & <all>")]
    for _ in range(2):
        response = peek.get(PATH, urlencode({"QueueUrl": url}))
        assert (response.status_code, response.headers["content-type"]) == (200, "text/xml")
        assert response.text.startswith(
            '<?xml version="1.0"?><ReceiveMessageResponse xmlns="http://queue.amazonaws.com/'
        )
        assert response.text.count("<Message>") == 2
        for text in (f"<MessageId>{sent[0]}</MessageId>", "<Body>world &amp; &lt;all&gt;</Body>",
                     "<MD5OfBody>5d41402abc4b2a76b9719d911017c592</MD5OfBody>", "<ReceiptHandle>",
                     f"<Name>SenderId</Name><Value>{ACCOUNT}</Value>",
                     "<Name>ApproximateReceiveCount</Name><Value>0</Value>"):  # fmt: skip
            assert text in response.text
    assert peek.sqs.counts(url) == (2, 0, 0)
    assert [message["Body"] for message in peek.sqs.receive(url, 2)] == ["hello", "world & <all>"]


def test_the_path_names_the_queue(peek: Raw) -> None:
    owner = peek.sqs.caller(account=PARTNER, region="eu-west-1")
    url = owner.create()
    owner.send(url, "far away")
    name = url.rpartition("/")[2]
    assert "<Body>far away</Body>" in peek.get(f"{PATH}/eu-west-1/{PARTNER}/{name}", "").text
    for place in (f"us-east-1/{PARTNER}/{name}", f"eu-west-1/{ACCOUNT}/{name}", f"eu-west-1/{PARTNER}/none"):
        assert error(peek.get(f"{PATH}/{place}", "")) == refused("AWS.SimpleQueueService.NonExistentQueue")


def test_a_peek_shows_messages_as_json(peek: Raw) -> None:
    url = peek.sqs.create()
    assert look(peek, url) == []
    attributes = {"a": {"DataType": "String", "StringValue": "v"}}
    peek.sqs.send(url, "hello", MessageAttributes=attributes)
    peek.sqs.send(url, "world")
    first, second = sorted(look(peek, url), key=lambda message: str(message["Body"]))  # the endpoint defines no order
    assert (first["Body"], second["Body"]) == ("hello", "world")
    assert first["MessageAttribute"] == {"Name": "a", "Value": {"DataType": "String", "StringValue": "v"}}
    assert first["Attribute"].keys() == {
        "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
    }  # fmt: skip


def test_invisible_and_delayed_messages(peek: Raw) -> None:
    """Python's library requests writes `True`."""
    url = peek.sqs.create()
    peek.sqs.send(url, "in flight")
    peek.sqs.receive_one(url)
    peek.sqs.send(url, "delayed", DelaySeconds=900)
    peek.sqs.send(url, "visible")
    assert [message["Body"] for message in look(peek, url)] == ["visible"]
    seen = look(peek, url, ShowInvisible="True", ShowDelayed="true")
    assert [
        (message["Body"], message["Attribute"]["IsVisible"], message["Attribute"]["IsDelayed"]) for message in seen
    ] == [("visible", "true", "false"), ("in flight", "false", "false"), ("delayed", "false", "true")]
    assert [message["Attribute"]["ApproximateReceiveCount"] for message in seen] == ["0", "1", "0"]
    assert [message["Body"] for message in look(peek, url, ShowDelayed="true")] == ["visible", "delayed"]
    assert "IsVisible" not in look(peek, url)[0]["Attribute"]


def test_a_fifo_queue(peek: Raw) -> None:
    """The response to the send contained the same sequence number. The endpoint also shows a message whose group is
    blocked."""
    url = peek.sqs.create_fifo()
    sent = [peek.sqs.send(url, body, MessageGroupId="g", MessageDeduplicationId=body) for body in "ab"]
    peek.sqs.receive_one(url)
    seen = look(peek, url, ShowInvisible="true")
    told = {message["Body"]: message["Attribute"] for message in seen}
    assert {body: told[body]["SequenceNumber"] for body in "ab"} == {
        body: message["SequenceNumber"] for body, message in zip("ab", sent, strict=True)
    }
    assert {(attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) for attributes in told.values()} == {
        ("g", "a"),
        ("g", "b"),
    }


def test_more_than_a_page(peek: Raw) -> None:
    url = peek.sqs.create()
    for start in range(0, 130, 10):
        entries = [{"Id": str(n), "MessageBody": str(start + n)} for n in range(10)]
        peek.sqs.client.send_message_batch(QueueUrl=url, Entries=entries)
    assert sorted(int(message["Body"]) for message in look(peek, url)) == list(range(130))


@pytest.mark.parametrize("protocol", ["json", "query", "cbor"])
def test_an_sdk_peeks_by_its_endpoint(peek: Raw, protocol: str) -> None:
    """`boto3.client("sqs", endpoint_url=".../_aws/sqs/messages").receive_message(QueueUrl=…)`."""
    caller = peek.sqs
    caller.protocol = protocol
    url = caller.create()
    caller.send(url, "hello")
    client, _ = build_client(protocol, caller.endpoint_url + PATH)
    seen = [client.receive_message(QueueUrl=url)["Messages"] for _ in range(2)]
    ((message,), (again,)) = seen
    assert (message["Body"], message["Attributes"]["ApproximateReceiveCount"]) == ("hello", "0")
    assert again == message
    with pytest.raises(client.exceptions.ClientError, match="InvalidAction"):
        client.send_message(QueueUrl=url, MessageBody="x")
    refusal = caller.refusal("delete_message", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert refusal.code == "ReceiptHandleIsInvalid"


def test_an_invalid_peek_is_refused(peek: Raw) -> None:
    url = peek.sqs.create()
    assert error(peek.get(PATH, "")) == refused("MissingParameter")
    assert error(peek.get(PATH, urlencode({"QueueUrl": f"{url}-none"}))) == refused(
        "AWS.SimpleQueueService.NonExistentQueue"
    )
    assert error(peek.get(PATH, urlencode({"QueueUrl": url, "ShowInvisible": "perhaps"}))) == refused(
        "InvalidParameterValue"
    )
    assert error(peek.get(PATH, urlencode({"QueueUrl": url, "Action": "PurgeQueue"}))) == refused("InvalidAction")
    response = peek.http.get(f"{peek.sqs.endpoint_url}{PATH}", headers={"accept": "application/json"})
    assert response.json()["Error"]["Code"] == "MissingParameter"


@pytest.mark.parametrize("raw", ["container"], indirect=True)
def test_without_the_setting_it_is_not_there(raw: Raw) -> None:
    """Functions serve the endpoint only if the operator adds a route for it."""
    url = raw.sqs.create()
    for path in (PATH, f"{PATH}/{REGION}/{ACCOUNT}/{url.rpartition('/')[2]}"):
        response = raw.get(path, urlencode({"QueueUrl": url}))
        assert (response.status_code, response.json()["error"]["code"]) == (404, HTTP_CODES[404])


# --- access ----------------------------------------------------------------------------------------------------------
def signed_get(peek: Raw, path: str, query: str, key: tuple[str, str], region: str = REGION) -> Any:
    url = f"{peek.sqs.endpoint_url}{path}" + (f"?{query}" if query else "")
    request = AWSRequest("GET", url)
    SigV4Auth(Credentials(*key), "sqs", region).add_auth(request)
    return peek.http.get(url, headers=dict(request.headers.items()))


def test_a_peek_needs_what_a_receive_needs(raw: Raw, keys: dict[str, tuple[str, str]]) -> None:
    deployment = raw._replace(sqs=raw.sqs.with_settings(SIGV4 | PEEK))
    owner = deployment.sqs.with_key(*keys[OWNER])
    url = owner.create()
    owner.send(url, "secret")
    query, name = f"QueueUrl={quote(url, safe='')}", url.rpartition("/")[2]
    assert error(deployment.get(PATH, query)) == refused("MissingAuthenticationToken", 403)
    assert "<Body>secret</Body>" in signed_get(deployment, PATH, query, keys[OWNER]).text
    assert error(signed_get(deployment, PATH, query, (keys[OWNER][0], "wrong"))) == refused(
        "SignatureDoesNotMatch", 403
    )
    assert error(signed_get(deployment, PATH, query, keys[PARTNER])) == refused("AccessDenied", 403)
    path = f"{PATH}/{REGION}/{OWNER}/{name}"
    assert "<Body>secret</Body>" in signed_get(deployment, path, "", keys[OWNER]).text
    assert error(signed_get(deployment, path, "", keys[OWNER], "eu-west-1")) == refused("SignatureDoesNotMatch", 403)
    allow(owner, url, "sqs:ReceiveMessage")
    assert "<Body>secret</Body>" in signed_get(deployment, PATH, query, keys[PARTNER]).text
    allow(owner, url, "sqs:ReceiveMessage", effect="Deny", principal="*")
    assert error(signed_get(deployment, PATH, query, keys[OWNER])) == refused("AccessDenied", 403)


def test_a_peek_needs_a_header_for_authorization(raw: Raw) -> None:
    deployment = raw._replace(sqs=raw.sqs.with_settings(PRESENCE | PEEK))
    url = deployment.sqs.create()
    query = urlencode({"QueueUrl": url})
    assert error(deployment.get(PATH, query)) == refused("MissingAuthenticationToken", 403)
    response = deployment.http.get(f"{deployment.sqs.endpoint_url}{PATH}?{query}", headers={"authorization": "any"})
    assert response.status_code == 200
