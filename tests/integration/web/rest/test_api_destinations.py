"""Tests /v1/connections and /v1/api-destinations on a real service, and a delivery to an API destination.

Sources: CreateConnection, UpdateConnection, CreateApiDestination (EventBridge API Reference).
"""

import io
import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from penstock_web.cli import main
from tests.support.database import Database
from tests.support.http_endpoint import HttpEndpoint, serve_http
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until
from tests.support.web.http_connection import error_code

pytestmark = [
    pytest.mark.shared,
    pytest.mark.settings(
        QUEUE_ENCRYPTION_KEY=b64encode(b"k" * 32).decode(),
        WEBHOOK_ALLOW_CIDRS="127.0.0.0/8",
        QUOTA_EVENT_BUSES="50",
        QUOTA_CONNECTIONS="50",
    ),
]
ROLE = "arn:aws:iam::000000000000:role/bus"
BASIC = {"BasicAuthParameters": {"Username": "max", "Password": "geheim"}}
SECRET = [{"Key": "x-tenant", "Value": "t1"}, {"Key": "x-secret", "Value": "hidden-1", "IsValueSecret": True}]
OAUTH = {
    "OAuthParameters": {
        "ClientParameters": {"ClientID": "c", "ClientSecret": "hidden-2"},
        "AuthorizationEndpoint": "https://a.example/token",
        "HttpMethod": "POST",
        "OAuthHttpParameters": {"BodyParameters": [{"Key": "k", "Value": "hidden-3", "IsValueSecret": True}]},
    },
    "InvocationHttpParameters": {"HeaderParameters": SECRET},
}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[HttpEndpoint]:
    with serve_http() as served:
        yield served


def connect(http: httpx.Client, name: str, kind: str = "BASIC", parameters: Any = BASIC, **more: object) -> Any:
    body = {"name": name, "authorization_type": kind, "auth_parameters": parameters, **more}
    made = http.post("/v1/connections", json=body)
    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"/v1/connections/{name}"
    return made.json()


def build(name: str, connection: str, url: str = "https://a.example/", **more: object) -> dict[str, object]:
    return {"name": name, "connection": connection, "invocation_endpoint": url, "http_method": "POST", **more}


def test_a_connection_never_shows_its_secrets(http: httpx.Client, shared_database: Database) -> None:
    made = connect(http, "oauth", "OAUTH_CLIENT_CREDENTIALS", OAUTH, description="d")
    assert made["arn"].startswith("arn:aws:events:us-east-1:000000000000:connection/oauth/")
    assert made["auth_parameters"] == {
        "OAuthParameters": {
            "ClientParameters": {"ClientID": "c"},
            "AuthorizationEndpoint": "https://a.example/token",
            "HttpMethod": "POST",
            "OAuthHttpParameters": {"BodyParameters": [{"Key": "k", "IsValueSecret": True}]},
        },
        "InvocationHttpParameters": {"HeaderParameters": [SECRET[0], {"Key": "x-secret", "IsValueSecret": True}]},
    }
    assert http.get("/v1/connections/oauth").json() == made
    assert made in http.get("/v1/connections").json()["connections"]
    with psycopg.connect(shared_database.api_dsn) as db:
        row = db.execute("select c::text, sealed_parameters from queue.connection c where arn = %s", (made["arn"],))
        text, sealed = row.fetchone() or ("", b"")
        audit = str(db.execute("select a::text from queue.audit a where target = %s", (made["arn"],)).fetchall())
    assert "CreateConnection" in audit
    assert "hidden" not in text + audit
    assert b"hidden" not in sealed


def test_a_change_of_a_connection(http: httpx.Client) -> None:
    made = connect(http, "changed")
    changed = http.patch("/v1/connections/changed", json={"description": "new"}).json()
    assert changed == {**made, "description": "new", "updated_at": changed["updated_at"]}
    other = {"authorization_type": "API_KEY", "auth_parameters": {"ApiKeyAuthParameters": {
        "ApiKeyName": "x-key", "ApiKeyValue": "v"}}}  # fmt: skip
    changed = http.patch("/v1/connections/changed", json=other).json()
    assert changed["auth_parameters"] == {"ApiKeyAuthParameters": {"ApiKeyName": "x-key"}}
    for body in ({"authorization_type": "BASIC"}, {"auth_parameters": BASIC}):
        assert error_code(http.patch("/v1/connections/changed", json=body)) == (400, "bad_request"), body
    assert error_code(http.patch("/v1/connections/absent", json={})) == (404, "connection_not_found")


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("BASIC", {}),
        ("BASIC", {**BASIC, **OAUTH}),
        ("API_KEY", BASIC),
        ("BASIC", {"BasicAuthParameters": {"Username": "a:b", "Password": "c"}}),
        ("BASIC", {"BasicAuthParameters": {"Username": "a", "Password": "c\n"}}),
        ("BASIC", {"BasicAuthParameters": {"Username": "a"}}),
        ("API_KEY", {"ApiKeyAuthParameters": {"ApiKeyName": "a b", "ApiKeyValue": "c"}}),
        ("API_KEY", {"ApiKeyAuthParameters": {"ApiKeyName": "a", "ApiKeyValue": "c\r\nx"}}),
        ("API_KEY", {"ApiKeyAuthParameters": {"ApiKeyName": "Transfer-Encoding", "ApiKeyValue": "chunked"}}),
        ("BASIC", {**BASIC, "InvocationHttpParameters": {"HeaderParameters": [{"Key": "a", "Value": "b\r\nc: d"}]}}),
        ("BASIC", {**BASIC, "InvocationHttpParameters": {"HeaderParameters": [{"Key": "a\n", "Value": "b"}]}}),
        ("BASIC", {**BASIC, "InvocationHttpParameters": {"BodyParameters": [{"Key": "a", "Value": "b"}] * 101}}),
        ("BASIC", {**BASIC, "ConnectivityParameters": {}}),
    ],
)
def test_an_invalid_connection_is_refused(http: httpx.Client, kind: str, parameters: object) -> None:
    body = {"name": "invalid", "authorization_type": kind, "auth_parameters": parameters}
    refused = http.post("/v1/connections", json=body)
    assert error_code(refused) == (400, "bad_request")
    assert http.get("/v1/connections/invalid").status_code == 404


def test_an_api_destination_from_beginning_to_end(http: httpx.Client) -> None:
    connect(http, "first")
    connect(http, "second")
    made = http.post("/v1/api-destinations", json=build("d", "first")).json()
    assert made["arn"].startswith("arn:aws:events:us-east-1:000000000000:api-destination/d/")
    assert (made["connection"], made["invocation_rate_limit_per_second"], made["description"]) == ("first", 300, "")
    assert http.get("/v1/api-destinations/d").json() == made
    assert error_code(http.delete("/v1/connections/first")) == (409, "connection_conflict")
    patch = {"connection": "second", "http_method": "PUT", "invocation_rate_limit_per_second": 5, "description": "x"}
    changed = http.patch("/v1/api-destinations/d", json=patch).json()
    assert changed == {**made, **patch, "updated_at": changed["updated_at"]}
    assert http.delete("/v1/connections/first").status_code == 204
    assert http.delete("/v1/api-destinations/d").status_code == 204
    for path in ("/v1/api-destinations/d", "/v1/connections/first"):
        assert http.get(path).status_code == http.delete(path).status_code == 404
    again = http.post("/v1/api-destinations", json=build("d", "second")).json()
    assert again["arn"] != made["arn"]


def test_names_are_unique_and_lists_have_pages(http: httpx.Client) -> None:
    connect(http, "p-1")
    again = {"name": "p-1", "authorization_type": "BASIC", "auth_parameters": BASIC}
    assert error_code(http.post("/v1/connections", json=again)) == (409, "connection_conflict")
    for name in ("p-1", "p-2"):
        assert http.post("/v1/api-destinations", json=build(name, "p-1")).status_code == 201
    twice = http.post("/v1/api-destinations", json=build("p-1", "p-1"))
    assert error_code(twice) == (409, "api_destination_conflict")
    names, following = [], ""
    while True:
        page = http.get(
            "/v1/api-destinations", params={"limit": 1, **({"next": following} if following else {})}
        ).json()
        names += [each["name"] for each in page["api_destinations"]]
        if not (following := page.get("next", "")):
            break
    assert names == sorted(names)
    assert {"p-1", "p-2"} <= set(names)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"connection": "absent"}, (404, "connection_not_found")),
        ({"name": "a b"}, (400, "bad_request")),
        ({"name": "a\n"}, (400, "bad_request")),
        ({"http_method": "TRACE"}, (400, "bad_request")),
        ({"invocation_endpoint": "https://user:secret@a.example/"}, (400, "bad_request")),
        ({"invocation_endpoint": "https://a.example/ b"}, (400, "bad_request")),
        ({"invocation_endpoint": "ftp://a.example/"}, (400, "bad_request")),
        ({"invocation_endpoint": "https://*.example/"}, (400, "bad_request")),
        ({"invocation_rate_limit_per_second": 0}, (400, "bad_request")),
    ],
)
def test_an_invalid_api_destination_is_refused(
    http: httpx.Client, change: dict[str, object], expected: tuple[int, str]
) -> None:
    if http.get("/v1/connections/valid").status_code == 404:
        connect(http, "valid")
    assert error_code(http.post("/v1/api-destinations", json={**build("new", "valid"), **change})) == expected
    assert http.get("/v1/api-destinations/new").status_code == 404


def test_without_private_networks_and_a_key_less_is_possible(http: httpx.Client, shared_database: Database) -> None:
    if http.get("/v1/connections/valid").status_code == 404:
        connect(http, "valid")
    with running_service(shared_database.api_dsn, QUOTA_API_DESTINATIONS="1") as other, other.http() as less:
        new = {"name": "keyless", "authorization_type": "BASIC", "auth_parameters": BASIC}
        refused = less.post("/v1/connections", json=new)
        assert (refused.status_code, "QUEUE_ENCRYPTION_KEY is not set" in refused.text) == (400, True)
        refused = less.post("/v1/api-destinations", json=build("plain", "valid", "http://a.example/"))
        assert (refused.status_code, "must begin with https" in refused.text) == (400, True)
        less.post("/v1/api-destinations", json=build("q-1", "valid"))
        over = less.post("/v1/api-destinations", json=build("q-2", "valid"))
        assert error_code(over) == (429, "too_many_requests")


def test_an_event_of_an_sdk_reaches_the_endpoint(service: Service, http: httpx.Client, endpoint: HttpEndpoint) -> None:
    connect(http, "crm", "API_KEY", {"ApiKeyAuthParameters": {"ApiKeyName": "x-api-key", "ApiKeyValue": "k1"}})
    target = http.post("/v1/api-destinations", json=build("crm", "crm", f"{endpoint.url}/customers/*")).json()["arn"]
    client = service.client("eventbridgev2")
    bus = client.create_event_bus(Name="crm")["EventBusArn"]
    client.create_subscriber(
        Name="crm",
        EventBusArn=bus,
        Type="FIFO",
        BatchConfiguration={"MaxBatchSize": 1},
        InvokeConfiguration={
            "TargetArn": target,
            "RoleArn": ROLE,
            "HttpParameters": {"PathParameterValues": ["{% $events.Data.detail.customer %}"]},
        },
    )
    entries = [
        {
            "Source": "shop", "DetailType": "order", "Detail": json.dumps({"customer": f"c{n}"}),
            "SystemMetadata": {"EventGroupId": "g"},
        }
        for n in range(3)
    ]  # fmt: skip
    client.put_events(EventBusArn=bus, Entries=entries)
    wait_until(lambda: len(endpoint.requests) == 3)
    assert [request.path for request in endpoint.requests] == [f"/customers/c{n}" for n in range(3)]
    assert {request.headers["x-api-key"] for request in endpoint.requests} == {"k1"}
    assert [request.payload["detail"]["customer"] for request in endpoint.requests] == ["c0", "c1", "c2"]


def test_the_commands(
    service: Service, http: httpx.Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: str) -> str:
        assert main([*arguments, "--endpoint", service.url]) == 0
        return capsys.readouterr().out

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(BASIC).encode())))
    assert run("connections", "put", "cli", "--type", "BASIC", "--parameters", "-").startswith("cli: created, arn:")
    assert run("connections", "put", "cli", "--description", "text") == "cli: changed\n"
    made = run("api-destinations", "put", "cli", "--connection", "cli", "--url", "https://a.example/", "--rate", "7")
    assert made == f"cli: created, {http.get('/v1/api-destinations/cli').json()['arn']}\n"
    assert run("api-destinations", "put", "cli", "--method", "PUT") == "cli: changed\n"
    shown = json.loads(run("api-destinations", "show", "cli", "--json"))
    assert (shown["http_method"], shown["invocation_rate_limit_per_second"]) == ("PUT", 7)
    assert "geheim" not in run("connections", "show", "cli")
    for kind in ("connections", "api-destinations"):
        assert "cli" in run(kind, "list")
    for kind in ("api-destinations", "connections"):
        assert run(kind, "delete", "cli", "--yes") == "deleted cli\n"
