"""Tests /v1/topics on a real service, with topics that boto3 created."""

import json
from typing import Any

import boto3
import httpx
import pytest

from tests.support.conformance.access_keys import SIGV4, key_ring
from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service
from tests.support.web.http_connection import error_code

pytestmark = pytest.mark.shared


def sns_of(service: Service) -> Any:
    return boto3.client(
        "sns", endpoint_url=service.url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="a"
    )


def test_a_message_reaches_the_queues_whose_filter_it_passes(service: Service, http: httpx.Client) -> None:
    for queue in ("all", "eu", "lost"):
        http.post("/v1/queues", json={"name": queue}).raise_for_status()
    made = http.post("/v1/topics", json={"name": "news", "tags": {"team": "a"}, "attributes": {"DisplayName": "N"}})
    assert (made.status_code, made.headers["location"]) == (201, "/v1/topics/news")
    arn = made.json()["arn"]
    everything = {"queue": "all", "raw": True, "dead_letters": "lost"}
    some = {"queue": "eu", "raw": True, "filter": {"region": ["eu"]}, "filter_on": "body"}
    arns = [http.post("/v1/topics/news/subscriptions", json=body).json()["arn"] for body in (everything, some)]
    for message in ({"region": "eu", "n": 1.10}, "plain"):
        published = http.post("/v1/topics/news/messages", json={"message": message, "headers": {"k": "v", "n": 3}})
        assert (published.status_code, len(published.json()["message_id"])) == (201, 36)
    sqs, sns = service.sqs(), sns_of(service)
    found = {
        queue: {
            message["Body"]: message.get("MessageAttributes")
            for message in sqs.receive_message(
                QueueUrl=queue, MaxNumberOfMessages=10, MessageAttributeNames=["All"], WaitTimeSeconds=1
            )["Messages"]
        }
        for queue in ("all", "eu")
    }
    assert {queue: sorted(bodies) for queue, bodies in found.items()} == {
        "all": ["plain", '{"region":"eu","n":1.1}'],
        "eu": ['{"region":"eu","n":1.1}'],
    }
    assert found["all"]["plain"] == {
        "k": {"StringValue": "v", "DataType": "String"},
        "n": {"StringValue": "3", "DataType": "Number"},
    }
    listed = http.get("/v1/topics/news/subscriptions").json()["subscriptions"]
    assert sorted(row["arn"] for row in listed) == sorted(arns)
    assert listed[0].keys() == {"arn", "topic", "protocol", "endpoint", "owner"}
    attributes = sns.get_subscription_attributes(SubscriptionArn=arns[0])["Attributes"]
    assert json.loads(attributes["RedrivePolicy"])["deadLetterTargetArn"].endswith(":lost")
    described = http.get("/v1/topics/news").json()
    assert (described["arn"], described["tags"], described["attributes"]["DisplayName"]) == (arn, {"team": "a"}, "N")
    for subscription in arns:
        path = f"/v1/topics/news/subscriptions/{subscription.rpartition(':')[2]}"
        assert http.delete(path).status_code == 204
    assert http.get("/v1/topics/news/subscriptions").json() == {"subscriptions": []}
    assert [topic["name"] for topic in http.get("/v1/topics").json()["topics"]] == ["news"]
    assert http.delete("/v1/topics/news").status_code == 204
    assert sns.list_topics()["Topics"] == []


def test_a_fifo_topic(http: httpx.Client) -> None:
    http.post("/v1/topics", json={"name": "steps.fifo"}).raise_for_status()
    message = {"message": "1", "group_id": "g", "dedup_id": "d"}
    response = http.post("/v1/topics/steps.fifo/messages", json=message).json()
    assert response["sequence_number"].isdigit()
    assert error_code(http.post("/v1/topics/steps.fifo/messages", json={"message": "1"})) == (400, "bad_request")


@pytest.mark.parametrize(
    ("method", "path", "body", "refused"),
    [
        ("GET", "/v1/topics/none", None, (404, "topic_not_found")),
        ("POST", "/v1/topics/none/messages", {"message": "1"}, (404, "topic_not_found")),
        ("GET", "/v1/topics/none/subscriptions", None, (404, "topic_not_found")),
        ("POST", "/v1/topics/there/subscriptions", {}, (400, "bad_request")),
        ("POST", "/v1/topics/there/subscriptions", {"queue": "a", "url": "https://a/"}, (400, "bad_request")),
        ("POST", "/v1/topics/there/subscriptions", {"url": "gopher://a/"}, (400, "bad_request")),
        ("POST", "/v1/topics/there/subscriptions", {"queue": "a", "filter": {"a": 1}}, (400, "bad_request")),
        ("DELETE", "/v1/topics/there/subscriptions/x", None, (400, "bad_request")),
        ("POST", "/v1/topics", {"name": "bad name"}, (400, "bad_request")),
        ("POST", "/v1/topics", {"name": "a", "colour": 1}, (400, "bad_request")),
        (
            "POST",
            "/v1/topics",
            {"name": "a.fifo", "attributes": {"ArchivePolicy": '{"MessageRetentionPeriod":"366"}'}},
            (400, "bad_request"),
        ),
        ("POST", "/v1/topics/there/messages", {"message": ""}, (400, "bad_request")),
        ("POST", "/v1/topics/there/messages", {"message": "\0"}, (400, "bad_request")),
    ],
)
def test_an_invalid_topic_request_is_refused(
    http: httpx.Client, method: str, path: str, body: object, refused: tuple[int, str]
) -> None:
    http.post("/v1/topics", json={"name": "there"}).raise_for_status()
    assert error_code(http.request(method, path, json=body)) == refused
    assert http.get("/v1/topics/there/subscriptions").json() == {"subscriptions": []}


def test_a_url_must_confirm_a_subscription(http: httpx.Client) -> None:
    """As on AWS, the list does not show an ARN until the subscriber has confirmed."""
    http.post("/v1/topics", json={"name": "hooks"}).raise_for_status()
    made = http.post("/v1/topics/hooks/subscriptions", json={"url": "https://hooks.example/"})
    assert (made.status_code, made.json()) == (201, {"arn": None})
    (row,) = http.get("/v1/topics/hooks/subscriptions").json()["subscriptions"]
    assert (row["arn"], row["protocol"]) == (None, "https")


def test_rights_of_topics(database: Database) -> None:
    with running_service(database.api_dsn, **SIGV4) as service, service.http() as http:
        with key_ring(database) as ring:
            keys = {}
            for user in ("read", "operate", "admin"):
                list(ring.set_user(user, [user], None, new=True))
                token = ring.create(None, "", bearer=True, user=user).token
                keys[user] = {"authorization": f"Bearer {token}"}
        for method, path, body, allowed in (
            ("POST", "/v1/topics", {"name": "t"}, ("admin",)),
            ("GET", "/v1/topics", None, ("read", "operate", "admin")),
            ("GET", "/v1/topics/t", None, ("read", "operate", "admin")),
            ("GET", "/v1/topics/t/subscriptions", None, ("read", "operate", "admin")),
            ("POST", "/v1/topics/t/messages", {"message": "1"}, ("operate", "admin")),
            ("POST", "/v1/topics/t/subscriptions", {"url": "https://a.example/"}, ("admin",)),
            ("DELETE", "/v1/topics/t", None, ("admin",)),
        ):
            for user, key in keys.items():
                code = http.request(method, path, json=body, headers=key).status_code
                assert (code < 300) is (user in allowed), (method, path, user, code)
                assert code < 300 or code == 403
