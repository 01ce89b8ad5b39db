"""Tests webhook event sources with QUEUE_ACCESS=sigv4, in both deployments. The senders of requests have no keys.

Sources: botocore's model `eventbridgev2` (1.44.8), "Securing a webhook event source" (Amazon EventBridge User Guide),
and docs/reference/webhook_sources.md for what AWS does not document.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64encode
from time import time
from typing import Any

import httpx
import pytest

from penstock_web.cli import main
from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4, key_ring
from tests.support.conformance.events import Events
from tests.support.conformance.webhooks import (
    GITHUB,
    SECRET,
    STANDARD,
    STRIPE,
    configure,
    create,
    create_for_github,
    post,
    sign_for_github,
    url_of,
)
from tests.support.database import Database

Keys = dict[str, tuple[str, str]]
INVALID = "InvalidInputException"
container = pytest.mark.parametrize("events", ["container"], indirect=True)


@pytest.fixture
def owner(events: Events, keys: Keys) -> Events:
    return events.of(events.sqs.with_settings(SIGV4).with_key(*keys[OWNER]))


@pytest.fixture
def partner(events: Events, keys: Keys) -> Events:
    return events.of(events.sqs.with_settings(SIGV4).with_key(*keys[PARTNER]))


def stored(owner: Events, bus: str) -> list[dict[str, Any]]:
    """Returns the events of a bus."""
    rows = owner.sqs.clock.connection.execute(
        "select e.data, e.content_type, e.metadata, e.account_id, e.group_id"
        " from queue.event e join queue.event_bus b using (bus_id) where b.arn = %s order by e.number",
        (bus,),
    )
    names = ("data", "content_type", "metadata", "account", "group")
    return [dict(zip(names, row, strict=True)) for row in rows]


def code_of(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


# --- the life of a webhook -------------------------------------------------------------------------------------------
def test_a_request_becomes_an_event(owner: Events) -> None:
    """The body stays byte for byte. The named headers become metadata under their names in lower case."""
    bus = owner.bus()
    source = create_for_github(owner, bus, MetadataHttpHeaders=["X-GitHub-Event", "X-Missing"])
    body = b'{ "n": 12345678901234567890 }'
    response = post(source, body, **sign_for_github(body), x_github_event="push")
    assert response.status_code == 202, response.text
    assert response.json()["duplicate"] is False
    (event,) = stored(owner, bus)
    assert event == {
        "data": body, "content_type": 1, "metadata": {"x-github-event": "push"}, "account": None, "group": None,
    }  # fmt: skip


def test_the_description_has_no_secret(owner: Events) -> None:
    bus = owner.bus()
    source = create_for_github(
        owner, bus, KmsKeyIdentifier="alias/k", DeduplicationConfiguration={"DeduplicationType": "CONTENT_BASED"}
    )
    assert source["State"] == "ACTIVE"
    assert source["EventSourceArn"].split(":")[-1].startswith("event-sourcev2/webhook/")
    found = owner.client.describe_event_source(EventSourceArn=source["EventSourceArn"])
    webhook = found["Configuration"]["WebhookEventsConfiguration"]
    assert webhook["AuthConfiguration"] == {"HmacAuthConfiguration": {**GITHUB, "SecretEncoding": "RAW"}}
    assert webhook["KmsKeyIdentifier"] == "alias/k"
    assert found["EventSourceDetails"] == source["EventSourceDetails"]
    assert SECRET not in str(found)
    (listed,) = owner.client.list_event_sources(EventBusArn=bus)["EventSources"]
    assert (listed["Type"], listed["EventSourceArn"]) == ("WEBHOOK_EVENTS", source["EventSourceArn"])
    rows = owner.sqs.clock.connection.execute(
        "select s::text, w::text from queue.event_source s join queue.event_webhook w using (source_id)"
    )
    assert all(SECRET not in text and SECRET.encode().hex() not in text for row in rows for text in row)


def test_a_client_token_repeats_a_creation(owner: Events) -> None:
    bus = owner.bus()
    members = {
        "Name": owner.name(), "EventBusArn": bus, "ClientToken": "once",
        "Configuration": configure("Hmac", {**GITHUB, "SecretValue": SECRET}),
    }  # fmt: skip
    first, second = (owner.client.create_event_source(**members) for _ in range(2))
    assert first | {"ResponseMetadata": {}} == second | {"ResponseMetadata": {}}
    changed = {**members, "Configuration": configure("Hmac", {**GITHUB, "SecretValue": SECRET + "2"})}
    assert owner.code("create_event_source", **changed) == "IdempotentParameterMismatchException"
    again = {**members, "ClientToken": "twice"}
    assert owner.code("create_event_source", **again) == "ResourceAlreadyExistsException"


def test_an_update_keeps_the_credential_and_the_url(owner: Events) -> None:
    source = create_for_github(owner, owner.bus())
    arn = {"EventSourceArn": source["EventSourceArn"]}
    slower = {**GITHUB, "SignaturePrefix": "sig="}
    owner.client.update_event_source(**arn, Configuration=configure("Hmac", slower), Description="d")
    found = owner.client.describe_event_source(**arn)
    assert (found["Description"], found["EventSourceDetails"]) == ("d", source["EventSourceDetails"])
    signature = sign_for_github(b"{}")["x-hub-signature-256"]
    assert post(source, x_hub_signature_256=signature).status_code == 401
    assert post(source, x_hub_signature_256=signature.replace("sha256", "sig")).status_code == 202
    for auth, settings in (
        ("StaticToken", {"TokenHttpHeader": "x-token"}),
        ("Hmac", {**GITHUB, "SecretEncoding": "BASE64"}),
        ("Hmac", {**GITHUB, "SecretValue": SECRET}),
    ):
        assert owner.code("update_event_source", **arn, Configuration=configure(auth, settings)) == INVALID


def test_a_deleted_and_a_revoked_webhook_receive_nothing(owner: Events) -> None:
    bus = owner.bus()
    deleted, revoked = create_for_github(owner, bus), create_for_github(owner, bus)
    owner.client.delete_event_source(EventSourceArn=deleted["EventSourceArn"])
    assert code_of(post(deleted, **sign_for_github(b"{}"))) == (404, "webhook_not_found")
    arn = revoked["EventSourceArn"]
    owner.client.revoke_resource(Arn=arn)
    assert code_of(post(revoked, **sign_for_github(b"{}"))) == (403, "unauthorized")
    assert code_of(post(revoked, x_hub_signature_256="sha256=00")) == (401, "unauthorized")
    for action in ("update_event_source", "rotate_webhook_credentials"):
        assert owner.code(action, EventSourceArn=arn) == "InvalidStateException"
    assert owner.client.describe_event_source(EventSourceArn=arn)["Revoked"] is True
    assert stored(owner, bus) == []


# --- credentials -----------------------------------------------------------------------------------------------------
def test_a_rotation_keeps_the_old_credential_for_15_minutes(owner: Events) -> None:
    source = create_for_github(owner, owner.bus())
    arn = {"EventSourceArn": source["EventSourceArn"]}
    rotation = {**arn, "Credential": {"HmacSecretValue": "another secret of 16"}, "ClientToken": "r1"}
    rotate = owner.client.rotate_webhook_credentials
    secret = source["EventSourceDetails"]["WebhookDetails"]["SecretArn"]
    assert [rotate(**rotation)["SecretArn"] for _ in range(2)] == [secret, secret]
    old, new = sign_for_github(b"{}"), sign_for_github(b"{}", "another secret of 16")
    assert [post(source, **headers).status_code for headers in (old, new)] == [202, 202]
    other = {**rotation, "Credential": {"HmacSecretValue": "yet another secret of 16"}}
    assert owner.code("rotate_webhook_credentials", **other) == "IdempotentParameterMismatchException"
    owner.sqs.clock.connection.execute(
        "update queue.event_webhook set previous_until = previous_until - interval '15 minutes'"
    )
    assert [post(source, **headers).status_code for headers in (old, new)] == [401, 202]
    rotate(**other | {"ClientToken": "r2"})
    rotate(**arn)
    assert post(source, **new).status_code == 401


def test_a_token_in_a_header(owner: Events) -> None:
    settings = {"TokenHttpHeader": "Authorization", "SecretValue": "Bearer s3cret"}
    source = create(owner, owner.bus(), "StaticToken", settings)
    assert post(source, authorization="Bearer s3cret").status_code == 202
    for wrong in ("s3cret", "bearer s3cret", "Bearer s3cret2", ""):
        assert code_of(post(source, authorization=wrong)) == (401, "unauthorized")
    assert post(source).status_code == 401


def test_basic_authentication(owner: Events) -> None:
    source = create(owner, owner.bus(), "BasicHttp", {"Username": "shop", "Password": "pass:word"})
    good = b64encode(b"shop:pass:word").decode()
    assert post(source, authorization=f"bAsIc {good}").status_code == 202
    for wrong in (good, f"Bearer {good}", "Basic", f"Basic {good[:-1]}", f"Basic {b64encode(b'shop:').decode()}"):
        assert post(source, authorization=wrong).status_code == 401
    rotation = {"EventSourceArn": source["EventSourceArn"], "Credential": {"BasicHttpPassword": "changed"}}
    owner.client.rotate_webhook_credentials(**rotation)
    assert post(source, authorization=f"Basic {b64encode(b'shop:changed').decode()}").status_code == 202
    wrong_kind = {**rotation, "Credential": {"HmacSecretValue": SECRET}}
    assert owner.code("rotate_webhook_credentials", **wrong_kind) == INVALID


def read_secret(owner: Events, source: dict[str, Any], token: str) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token}"}
    url = f"{owner.sqs.endpoint_url}/v1/event-sources/{source['Name']}/secret"
    shown: dict[str, Any] = httpx.get(url, headers=headers, verify=False).raise_for_status().json()
    return shown


def test_generated_credentials_are_shown_over_rest(
    owner: Events, installation: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with key_ring(installation) as ring:
        token = ring.create(OWNER, "", bearer=True).token
    bus = owner.bus()
    signed = create(owner, bus, "Hmac", GITHUB)
    shown = read_secret(owner, signed, token)
    assert (shown["url"], shown["arn"]) == (url_of(signed), signed["EventSourceArn"])
    assert post(signed, **sign_for_github(b"{}", shown["secret"])).status_code == 202
    owner.client.rotate_webhook_credentials(EventSourceArn=signed["EventSourceArn"])
    assert read_secret(owner, signed, token)["secret"] != shown["secret"]
    basic = create(owner, bus, "BasicHttp", {})
    shown = read_secret(owner, basic, token)
    password = b64encode(f"{shown['user_name']}:{shown['secret']}".encode()).decode()
    assert post(basic, authorization=f"Basic {password}").status_code == 202
    monkeypatch.setenv("PENSTOCK_ENDPOINT", owner.sqs.endpoint_url)
    monkeypatch.setenv("PENSTOCK_TOKEN", token)
    assert main(["webhook-secret", basic["Name"]]) == 0
    assert shown["secret"] in capsys.readouterr().out
    assert main(["webhook-secret", "none"]) == 1
    assert "Webhook event source 'none' does not exist" in capsys.readouterr().err


@container
def test_the_audit_log_has_the_acts_without_secrets(owner: Events) -> None:
    connection = owner.sqs.clock.connection
    source = create_for_github(owner, owner.bus())
    arn = {"EventSourceArn": source["EventSourceArn"]}
    owner.client.update_event_source(**arn, Description="d")
    owner.client.rotate_webhook_credentials(**arn, Credential={"HmacSecretValue": SECRET[::-1]})
    owner.client.delete_event_source(**arn)
    rows = connection.execute(
        "select action, a::text from queue.audit a where target = %s order by audit_id",
        (arn["EventSourceArn"],),
    ).fetchall()
    actions = ("CreateEventSource", "UpdateEventSource", "RotateWebhookCredentials", "DeleteEventSource")
    assert [row[0] for row in rows] == [f"events:{name}" for name in actions]
    assert all(secret not in row[1] for row in rows for secret in (SECRET, SECRET[::-1], url_of(source)[-43:]))


# --- hostile requests ------------------------------------------------------------------------------------------------
def test_bodies(owner: Events) -> None:
    """A body that is not JSON is binary, unless Content-Type promises JSON."""
    bus = owner.bus()
    source = create_for_github(owner, bus)
    for body, kind, status in (
        (b"\xff\x00", "application/octet-stream", 202),
        (b"payload=%7B%7D", "application/x-www-form-urlencoded", 202),
        (b"{}", "Application/vnd.x+JSON; charset=utf-8", 202),
        (b"\xff", "application/x+json", 400),  # API Gateway passes on these bytes, unlike those of application/json
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
    ):
        assert post(source, body, content_type=kind, **sign_for_github(body)).status_code == status, kind
    assert [event["content_type"] for event in stored(owner, bus)] == [2, 2, 1]


def test_a_body_has_at_most_one_mebibyte(owner: Events) -> None:
    source = create_for_github(owner, owner.bus())
    body = b"1" * 1_048_576
    assert post(source, body, content_type="text/plain", **sign_for_github(body)).status_code == 202
    assert code_of(post(source, body + b"1", **sign_for_github(body + b"1"))) == (413, "payload_too_large")
    assert code_of(post(source, body, content_type="text/plain")) == (401, "unauthorized")


def test_a_repeated_or_long_header_is_refused(owner: Events) -> None:
    bus = owner.bus()
    source = create_for_github(owner, bus, MetadataHttpHeaders=["x-note"])
    ((name, value),) = sign_for_github(b"{}").items()
    pairs = [("content-type", "application/json"), (name, value), (name, "sha256=00")]
    assert httpx.post(url_of(source), content=b"{}", headers=pairs, verify=False).status_code == 401
    assert post(source, x_hub_signature_256=value, x_note="n" * 200_000).status_code in (400, 413, 431)
    assert stored(owner, bus) == []


def test_only_post_to_a_known_url(owner: Events) -> None:
    source = create_for_github(owner, owner.bus())
    url = url_of(source)
    assert httpx.get(url, verify=False).status_code == 405
    headers = sign_for_github(b"{}")
    for other in (url + "x", url.rpartition("/")[0] + "/%00", url.rpartition("/")[0] + "/" + "k" * 5_000):
        assert httpx.post(other, content=b"{}", headers=headers, verify=False).status_code == 404, other[:200]


def test_equal_contents_are_duplicates(owner: Events) -> None:
    bus = owner.bus()
    source = create_for_github(owner, bus, DeduplicationConfiguration={"DeduplicationType": "CONTENT_BASED"})
    first, second = (post(source, **sign_for_github(b"{}")).json() for _ in range(2))
    assert second == {**first, "duplicate": True}
    assert len(stored(owner, bus)) == 1


# --- what a configuration can be -------------------------------------------------------------------------------------
HMAC = {**GITHUB, "SecretValue": SECRET}
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("StaticToken", {"TokenHttpHeader": "Host"}, {}),
    ("StaticToken", {"TokenHttpHeader": "x-forwarded-for"}, {}),
    ("StaticToken", {"TokenHttpHeader": "a b"}, {}),
    ("StaticToken", {"TokenHttpHeader": "x-t", "SecretValue": "short"}, {}),
    ("StaticToken", {"TokenHttpHeader": "x-t", "SecretValue": " blank first"}, {}),
    ("StaticToken", {"TokenHttpHeader": "x-t"}, {"MetadataHttpHeaders": ["X-T"]}),
    ("BasicHttp", {"Username": "u"}, {}),
    ("BasicHttp", {"Username": "u:v", "Password": "password"}, {}),
    ("Hmac", {**GITHUB, "SecretValue": "15 bytes is few"}, {}),
    ("Hmac", {**GITHUB, "SecretValue": "not base64 at all!", "SecretEncoding": "BASE64"}, {}),
    ("Hmac", {**GITHUB, "SecretValue": "whsec_MTIzNDU2Nzg5MDEyMzQ1", "SecretEncoding": "BASE64"}, {}),
    ("Hmac", {**HMAC, "TimestampHttpHeader": "x-time"}, {}),
    ("Hmac", {**HMAC, "TimestampToleranceInSeconds": 300}, {}),
    ("Hmac", {**HMAC, "SignedMessageComposition": "TIMESTAMP_DOT_BODY"}, {}),
    ("Hmac", {**STRIPE, "Delimiter": None}, {}),
    ("Hmac", {**STRIPE, "TimestampToleranceInSeconds": 901}, {}),
    ("Hmac", {**STANDARD, "MessageIdHttpHeader": None}, {}),
    ("Hmac", HMAC, {"MetadataHttpHeaders": ["x-a", "X-A"]}),
    ("Hmac", HMAC, {"MetadataHttpHeaders": ["Cookie"]}),
    ("Hmac", HMAC, {"MetadataHttpHeaders": [f"x-{n}" for n in range(21)]}),
    ("Hmac", HMAC, {"RoleArn": "arn:aws:iam::999999999999:role/r"}),
]


@container
def test_a_configuration_is_checked(owner: Events) -> None:
    bus = owner.bus()
    for auth, settings, more in REFUSED:
        given = {name: value for name, value in settings.items() if value is not None}
        members = {"Name": "w", "EventBusArn": bus, "Configuration": configure(auth, given, **more)}
        refusal = owner.refusal("create_event_source", **members)
        assert refusal[:2] == (INVALID, 400), (auth, settings, more)
        assert "SecretValue" not in settings or settings["SecretValue"] not in refusal.message
    two = configure("Hmac", HMAC)
    two["WebhookEventsConfiguration"]["AuthConfiguration"]["BasicHttpAuthConfiguration"] = {}
    assert owner.refused("create_event_source", Name="w", EventBusArn=bus, Configuration=two) == (INVALID, 400)
    missing = bus[:-25] + "a" * 25
    one = configure("Hmac", HMAC)
    assert owner.refused("create_event_source", Name="w", EventBusArn=missing, Configuration=one)[1] in (403, 404)


# --- other accounts --------------------------------------------------------------------------------------------------
@container
def test_a_policy_lets_another_account_add_a_webhook(owner: Events, partner: Events) -> None:
    """The other account needs the rights to create an event source on the bus and to publish. It is the publisher."""
    bus = owner.bus()
    members = {"Name": "theirs", "EventBusArn": bus, "Configuration": configure("Hmac", HMAC, PARTNER)}

    def grant(*actions: str) -> None:
        statement = {"Effect": "Allow", "Principal": {"AWS": PARTNER}, "Action": list(actions), "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        owner.client.put_resource_policy(ResourceArn=bus, PolicyDocument=policy)

    for actions in ((), ("events:CreateEventSource",), ("events:PutRawEvents",)):
        if actions:
            grant(*actions)
        assert partner.code("create_event_source", **members) == "AccessDeniedException"
    grant("events:CreateEventSource", "events:PutRawEvents")
    source = partner.client.create_event_source(**members)
    assert post(source, **sign_for_github(b"{}")).status_code == 202
    assert stored(owner, bus)[0]["account"] == PARTNER
    (listed,) = owner.client.list_event_sources(EventBusArn=bus)["EventSources"]
    assert listed["EventSourceAccountId"] == PARTNER
    arn = source["EventSourceArn"]
    assert owner.code("describe_event_source", EventSourceArn=arn) == "AccessDeniedException"
    owner.client.revoke_resource(Arn=arn)
    assert post(source, **sign_for_github(b"{}")).status_code == 403


def test_old_timestamps_are_refused(owner: Events) -> None:
    """Stripe sends the time in the header of the signature ("Verify webhook signatures manually", Stripe Docs)."""
    source = create(owner, owner.bus(), "Hmac", {**STRIPE, "SecretValue": SECRET})
    for age, status in ((0, 202), (290, 202), (-290, 202), (310, 401), (-310, 401)):
        at = str(int(time()) - age)
        signature = hmac.new(SECRET.encode(), f"{at}.{{}}".encode(), hashlib.sha256).hexdigest()
        response = post(source, stripe_signature=f"t={at},v1={'0' * 64},v1={signature},v0=x")
        assert response.status_code == status, age
