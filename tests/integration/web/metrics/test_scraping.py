"""Tests the right to read /metrics, which names the queues of all accounts (docs/reference/prometheus.md)."""

from pathlib import Path

import httpx
import pytest

from penstock_web.cli import main
from tests.support.conformance.access_keys import SIGV4
from tests.support.database import Database
from tests.support.programs.penstock_service import running_service
from tests.support.web.prometheus_text import scrape

TOKEN = {"QUEUE_METRICS_TOKEN": "s3cret-tökén"}
GOOD = {b"authorization": b"bearer " + TOKEN["QUEUE_METRICS_TOKEN"].encode()}
WRONG = {"authorization": "Bearer s3cret"}
# The second text is the escaped form of the first.
PATHS = ("/metrics", "/%6detrics", "/metrics?x=1")
EVIL_HOST, EVIL_PAGE = {"host": "evil.example"}, {"origin": "http://evil.example"}


def answers(http: httpx.Client, headers: dict[str, str] | dict[bytes, bytes]) -> set[int]:
    return {http.get(path, headers=headers).status_code for path in PATHS}


def test_open_by_default_but_not_to_pages(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        assert answers(http, {}) == {200}
        assert answers(http, EVIL_HOST) == {421}
        assert answers(http, EVIL_PAGE) == {403}


@pytest.mark.parametrize("access", ["off", "presence"])
def test_a_token_closes_it(database: Database, access: str) -> None:
    with running_service(database.api_dsn, QUEUE_ACCESS=access, **TOKEN) as service, service.http() as http:
        assert answers(http, {}) == answers(http, WRONG) == {401}
        assert answers(http, GOOD) == answers(http, {**GOOD, b"host": b"prometheus.example"}) == {200}
        assert http.get("/metrics").headers["www-authenticate"] == "Bearer"
        refused = http.get("/metrics", headers=GOOD).text
        assert 'penstock_auth_failures_total{code="InvalidClientTokenId"} 3' in refused


@pytest.mark.parametrize("token", [{}, TOKEN], ids=["keys", "keys and token"])
def test_with_signatures_it_wants_the_token_or_a_key(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    token: dict[str, str],
) -> None:
    for name, value in {**SIGV4, "DATABASE_URL": database.api_dsn}.items():
        monkeypatch.setenv(name, value)

    def bearer(*arguments: str) -> dict[str, str]:
        assert main(["keys", "create", "--bearer", *arguments]) == 0
        key = capsys.readouterr().out.splitlines()[0].partition("=")[2]
        return {"authorization": f"Bearer {key}"}

    sender = tmp_path / "sender.json"
    sender.write_text('{"Statement": {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}}')
    for user, policy in (("reader", "read"), ("sender", str(sender))):
        assert main(["users", "create", user, "--policy", policy]) == 0
    capsys.readouterr()
    root, reader, other = bearer(), bearer("--user", "reader"), bearer("--user", "sender")
    with running_service(database.api_dsn, **SIGV4, **token) as service, service.http() as http:
        assert answers(http, {}) == answers(http, WRONG) == {401}
        assert answers(http, GOOD) == {200 if token else 401}
        assert answers(http, root) == answers(http, reader) == {200}
        assert answers(http, other) == {403}
        assert scrape(service.url, **reader).value("penstock_processes") == 1
        tenant = bearer("--account", "111122223333")
        for key, name in ((root, "mine"), (tenant, "theirs")):
            http.post("/v1/queues", json={"name": name}, headers=key).raise_for_status()
            http.post(f"/v1/queues/{name}/messages", json={"message": 1}, headers=key).raise_for_status()
        lines = [line for line in http.get("/metrics", headers=tenant).text.splitlines() if line[0] != "#"]
        assert lines != []
        assert [line for line in lines if "arn:aws:sqs:us-east-1:111122223333:theirs" not in line] == []
        assert 'queue="mine"' in http.get("/metrics", headers=root).text


def test_the_documents_page_is_gone_and_the_document_stays(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        assert http.get("/v1/docs").status_code == 404
        document = http.get("/v1/openapi.json")
        assert "/metrics" in document.json()["paths"]
        assert document.headers["content-encoding"] == "gzip"
        again = http.get("/v1/openapi.json", headers={"if-none-match": document.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        plain = http.get("/v1/openapi.json", headers={"accept-encoding": "identity"})
        assert plain.json() == document.json()


def test_a_document_counts_as_a_request_of_the_address(database: Database) -> None:
    settings = {"QUOTA_REQUESTS_PER_SECOND": "1", "QUEUE_CONSOLE": "read"}
    with running_service(database.api_dsn, **settings) as service, service.http() as http:
        for path in ("/v1/openapi.json", "/docs/"):
            assert 429 in [http.get(path).status_code for _ in range(20)]
