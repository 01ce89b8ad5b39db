"""Tests /v1/mappings on a real service: mappings that boto3 created, and users with policies."""

import json
from typing import Any

import httpx
import pytest

from tests.support.conformance.access_keys import SIGV4, key_ring
from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service
from tests.support.web.http_connection import error_code

LAMBDA = {"QUEUE_LAMBDA_ENDPOINT": "http://127.0.0.1:1", "QUEUE_LAMBDA_FUNCTIONS": "f*"}
pytestmark = [pytest.mark.shared, pytest.mark.settings(**LAMBDA)]

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
NOWHERE = "3fa85f64-5717-4562-b3fc-2c963f66afa6"


def new_queue(http: httpx.Client, name: str) -> None:
    http.post("/v1/queues", json={"name": name}).raise_for_status()


def test_a_mapping_of_rest_is_the_mapping_of_the_other_api(service: Service, http: httpx.Client) -> None:
    new_queue(http, "orders")
    body = {
        "queue": "orders", "function": "f", "enabled": False, "batch_size": 20, "window_secs": 1, "max_concurrency": 3,
        "filters": [{"body": {"kind": ["order"]}}], "report_failures": True, "tags": {"a": "1", "b": "2"},
    }  # fmt: skip
    made = http.post("/v1/mappings", json=body)
    shown = made.json()
    assert (made.status_code, made.headers["location"]) == (201, f"/v1/mappings/{shown['id']}")
    assert {key: value for key, value in shown.items() if key not in ("id", "updated_at")} == {
        key: value for key, value in body.items() if key != "enabled"
    } | {
        "function": FUNCTION,
        "state": "disabled",
        "reason": "USER_INITIATED",
        "last_result": "No records processed",
        "user": None,
        "invocations": 0,
        "failed_invocations": 0,
        "failing_since": None,
    }
    client = service.client("lambda")
    there = client.get_event_source_mapping(UUID=shown["id"])
    assert (there["BatchSize"], there["MaximumBatchingWindowInSeconds"], there["ScalingConfig"], there["State"]) == (
        20, 1, {"MaximumConcurrency": 3}, "Disabled",
    )  # fmt: skip
    assert [json.loads(pattern["Pattern"]) for pattern in there["FilterCriteria"]["Filters"]] == body["filters"]
    assert there["FunctionResponseTypes"] == ["ReportBatchItemFailures"]

    changes = {"batch_size": 5, "filters": [], "report_failures": False, "max_concurrency": None, "tags": {"b": "3"}}
    changed = http.patch(f"/v1/mappings/{shown['id']}", json=changes).json()
    assert {key: changed[key] for key in changes} == changes
    assert (changed["window_secs"], changed["state"]) == (1, "disabled")
    there = client.get_event_source_mapping(UUID=shown["id"])
    assert (there["BatchSize"], there["FunctionResponseTypes"]) == (5, [])
    assert client.list_tags(Resource=there["EventSourceMappingArn"])["Tags"] == {"b": "3"}
    assert http.get(f"/v1/mappings/{shown['id']}").json() == changed
    started = http.patch(f"/v1/mappings/{shown['id']}", json={"enabled": True}).json()
    assert started["state"] == "enabled"
    assert http.delete(f"/v1/mappings/{shown['id']}").status_code == 204
    assert error_code(http.delete(f"/v1/mappings/{shown['id']}")) == (404, "mapping_not_found")


def test_mappings_are_listed_in_pages(http: httpx.Client) -> None:
    new_queue(http, "listed")
    made = {
        http.post("/v1/mappings", json={"queue": "listed", "function": f"f{n}", "enabled": False}).json()["id"]
        for n in range(101)
    }
    first = http.get("/v1/mappings", params={"queue": "listed"}).json()
    last = http.get("/v1/mappings", params={"queue": "listed", "next": first["next"]}).json()
    assert (len(first["mappings"]), "next" in last) == (100, False)
    assert {mapping["id"] for mapping in first["mappings"] + last["mappings"]} == made
    found = http.get("/v1/mappings", params={"function": "f7"}).json()["mappings"]
    assert [mapping["function"] for mapping in found] == [f"{FUNCTION}7"]


@pytest.mark.parametrize(
    ("change", "response"),
    [
        ({"batch_size": 11}, (400, "bad_request")),  # needs a window
        ({"batch_size": 0}, (400, "bad_request")),
        ({"window_secs": 301}, (400, "bad_request")),
        ({"max_concurrency": 1}, (400, "bad_request")),
        ({"filters": [{}] * 6}, (400, "bad_request")),
        ({"filters": [{"body": "a"}]}, (400, "bad_request")),
        ({"filters": [{"body": ["a" * 4_096]}]}, (400, "bad_request")),
        ({"function": "g"}, (400, "bad_request")),  # not in QUEUE_LAMBDA_FUNCTIONS
        ({"queue": "nowhere"}, (404, "queue_not_found")),
        ({"queue": "no.queue"}, (404, "queue_not_found")),
        ({"tags": {"aws:a": "b"}}, (400, "bad_request")),
        ({"other": 1}, (400, "bad_request")),
        ({"function": "f1"}, (409, "mapping_conflict")),
    ],
)
def test_an_invalid_mapping_is_refused(http: httpx.Client, change: dict[str, Any], response: tuple[int, str]) -> None:
    if http.get("/v1/queues/refused").status_code == 404:
        new_queue(http, "refused")
        http.post("/v1/mappings", json={"queue": "refused", "function": "f1"}).raise_for_status()
    body = {"queue": "refused", "function": "f2", **change}
    assert error_code(http.post("/v1/mappings", json=body)) == response


def test_a_mapping_that_is_not_there(http: httpx.Client) -> None:
    for uuid in (NOWHERE, "none"):
        path = f"/v1/mappings/{uuid}"
        assert error_code(http.get(path)) == (404, "mapping_not_found")
        assert error_code(http.patch(path, json={"enabled": True})) == (404, "mapping_not_found")
        assert error_code(http.patch(path, json={"tags": {"a": "b"}})) == (404, "mapping_not_found")


def test_a_user_needs_the_action_and_rights_on_the_queue(database: Database) -> None:
    """A user who creates or changes a mapping needs the right to this action, and the rights to receive and delete on
    the queue.
    """
    users = {"read": "read", "maker": allow("lambda:*"), "owner": allow("lambda:*", "sqs:*")}
    with running_service(database.api_dsn, **SIGV4, **LAMBDA) as service, service.http() as http:
        keys = {}
        with key_ring(database) as ring:
            for user, policy in users.items():
                list(ring.set_user(user, [policy], None, new=True))
                token = ring.create(None, "", bearer=True, user=user).token
                keys[user] = {"authorization": f"Bearer {token}"}
        http.post("/v1/queues", json={"name": "q"}, headers=keys["owner"]).raise_for_status()

        def allowed(method: str, path: str, body: object = None) -> set[str]:
            statuses = {user: http.request(method, path, json=body, headers=keys[user]).status_code for user in users}
            assert set(statuses.values()) <= {200, 201, 204, 403}
            return {user for user, code in statuses.items() if code < 300}

        assert allowed("POST", "/v1/mappings", {"queue": "q", "function": "f"}) == {"owner"}
        assert allowed("GET", "/v1/mappings") == {"read", "maker", "owner"}
        (made,) = http.get("/v1/mappings", headers=keys["read"]).json()["mappings"]
        assert made["user"] == "owner"
        path = f"/v1/mappings/{made['id']}"
        assert allowed("GET", path) == {"read", "maker", "owner"}
        assert allowed("PATCH", path, {"enabled": False}) == {"owner"}
        assert http.delete(path, headers=keys["read"]).status_code == 403
        assert http.delete(path, headers=keys["maker"]).status_code == 204


def allow(*actions: str) -> str:
    """Returns a policy in the format of the database."""
    return json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Resource": "*", "Action": actions}})


def test_a_quota_of_an_account(database: Database) -> None:
    """AWS does not limit the number of mappings. QUOTA_MAPPINGS is a limit of Penstock (docs/operate/quotas.md)."""
    with running_service(database.api_dsn, **LAMBDA, QUOTA_MAPPINGS="2") as service, service.http() as http:
        new_queue(http, "orders")
        bodies = [{"queue": "orders", "function": f"f{n}", "enabled": False} for n in range(3)]
        made = [http.post("/v1/mappings", json=body) for body in bodies]
        assert [response.status_code for response in made[:2]] == [201, 201]
        assert error_code(made[2]) == (429, "too_many_requests")
        client = service.client("lambda")
        with pytest.raises(client.exceptions.InvalidParameterValueException, match="can have 2 mappings"):
            client.create_event_source_mapping(
                EventSourceArn="arn:aws:sqs:us-east-1:000000000000:orders", FunctionName="f2"
            )
        http.delete(f"/v1/mappings/{made[0].json()['id']}").raise_for_status()
        assert http.post("/v1/mappings", json=bodies[2]).status_code == 201
