"""/v1/outbox over a real service, with a gateway and without. Shapes: docs/topics.md."""

from __future__ import annotations

import json
from functools import partial

import httpx

from tests.support.database import Database
from tests.support.delivery.receiver import Receiver
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until

PHONE = "+15550100123"


def send(http: httpx.Client, text: str, **more: str) -> None:
    form = {"Action": "Publish", "Version": "2010-03-31", "PhoneNumber": PHONE, "Message": text, **more}
    answer = http.post("/", data=form)
    assert answer.status_code == 200, answer.text


def states(http: httpx.Client) -> list[str]:
    return [one["state"] for one in http.get("/v1/outbox", params={"destination": PHONE}).json()]


def are_sent(http: httpx.Client, number: int) -> bool:
    return states(http) == ["sent"] * number


def test_the_worker_carries_what_the_service_publishes(database: Database, receiver: Receiver) -> None:
    """At once, also after it has slept."""
    settings = {"SNS_GATEWAY_URL": receiver.url("/200")}
    with running_service(database.api_dsn, **settings) as service, service.http() as http:
        for number in range(3):
            send(http, f"m{number}")
            wait_until(partial(are_sent, http, number + 1))
    assert [json.loads(request.body)["text"] for request in receiver.requests] == ["m0", "m1", "m2"]


def test_without_a_gateway_it_is_kept(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        send(http, "hello")
        assert states(http) == ["kept"]
        assert http.get("/v1/outbox", params={"protocol": "email"}).json() == []
        assert http.get("/v1/outbox", params={"protocol": "pigeon"}).status_code == 400
        assert http.get("/v1/outbox", params={"limit": 101}).status_code == 400
        assert http.put("/v1/outbox/opted-out/0123").status_code == 400
        assert http.put(f"/v1/outbox/opted-out/{PHONE.replace('+', '%2B')}").json() == {"phone_number": PHONE}
        send(http, "again")
        assert states(http) == ["kept", "failed"]


def test_so_many_numbers_can_be_opted_out(database: Database) -> None:
    """One that is there can be noted again (QUOTA_OPTED_OUT_NUMBERS, docs/security.md)."""
    with running_service(database.api_dsn, QUOTA_OPTED_OUT_NUMBERS="2") as service, service.http() as http:
        answers = [http.put(f"/v1/outbox/opted-out/%2B1555010000{last}") for last in (1, 2, 3, 1)]
        assert [answer.status_code for answer in answers] == [200, 200, 429, 200]
        assert answers[2].json()["error"]["message"] == "An account can have 2 opted out numbers."
        form = {"Action": "CheckIfPhoneNumberIsOptedOut", "Version": "2010-03-31"}
        checked = http.post("/", data={**form, "phoneNumber": "+15550100003"})
        assert "<isOptedOut>false</isOptedOut>" in checked.text


def test_a_page_has_512_kib_at_most_with_attributes(database: Database) -> None:
    entry = "MessageAttributes.entry.1"
    long = {
        f"{entry}.Name": "a",
        f"{entry}.Value.DataType": "String",
        f"{entry}.Value.StringValue": "x" * 200_000,
    }
    with running_service(database.api_dsn) as service, service.http() as http:
        for number in range(3):
            send(http, f"m{number}", **long)
        first = http.get("/v1/outbox").json()
        last = http.get("/v1/outbox", params={"after": first[-1]["id"]}).json()
    assert [[one["text"] for one in page] for page in (first, last)] == [["m0", "m1"], ["m2"]]
