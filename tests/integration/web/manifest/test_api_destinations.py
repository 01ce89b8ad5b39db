"""Tests connections and API destinations in penstock.yaml against a running service (docs/guides/penstock_file.md)."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import yaml

from penstock.events.connections import ParameterCipher
from penstock_web.cli import main
from penstock_web.manifest.source import read_text
from tests.support.database import Database
from tests.support.programs.penstock_service import running_service

KEY = b64encode(b"k" * 32).decode()
FILE = """
connections:
  crm:
    authorization_type: OAUTH_CLIENT_CREDENTIALS
    description: customers
    auth_parameters:
      OAuthParameters:
        ClientParameters: {ClientID: id, ClientSecret: "${env:CRM_SECRET}"}
        AuthorizationEndpoint: https://crm.example/token
        HttpMethod: POST
      InvocationHttpParameters:
        HeaderParameters: [{Key: x-a, Value: "${env:CRM_A}", IsValueSecret: true}, {Key: x-b, Value: b}]
api_destinations:
  crm: {connection: crm, invocation_endpoint: "https://crm.example/*", invocation_rate_limit_per_second: 5}
buses:
  shop:
    subscribers:
      crm:
        target: api-destination/crm
        configuration: {InvokeConfiguration: {HttpParameters: {PathParameterValues: [a]}}}
"""
MADE = ["+ connection crm", "+ api_destination crm", "+ bus shop", "+ subscriber shop/crm"]


@pytest.fixture
def penstock(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., str]]:
    """Applies a file to a new service and returns the output, or runs another command."""
    path = tmp_path / "penstock.yaml"
    with running_service(database.api_dsn, QUEUE_ENCRYPTION_KEY=KEY) as service:
        monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)

        def run(text: str, *options: str, error: str = "") -> str:
            path.write_text(text)
            code = main(["export"] if not text else ["apply", "-f", str(path), *options])
            output = capsys.readouterr()
            assert (code, error in output.err) == (1 if error else 0, True), output
            return output.out

        yield run


def plan(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line[:2] in ("+ ", "~ ", "- ")]


def test_a_file_is_applied_once_and_exported(
    penstock: Callable[..., str], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    penstock(FILE, error="the environment variable CRM_SECRET is not set")
    monkeypatch.setenv("CRM_SECRET", "s3cret")
    penstock(FILE, "--dry-run", error="the environment variable CRM_A is not set")
    monkeypatch.setenv("CRM_A", "hidden")
    assert plan(penstock(FILE, "--dry-run")) == MADE
    printed = penstock(FILE)
    assert plan(printed) == MADE
    assert "s3cret" not in printed
    assert "hidden" not in printed
    assert penstock(FILE) == "nothing to do\n"
    with psycopg.connect(database.api_dsn) as db:
        row = db.execute("select arn, account_id, sealed_parameters from queue.connection").fetchone() or ("", "", b"")
    opened = ParameterCipher(KEY).open(row[2], row[0], row[1])
    assert opened.oauth is not None
    assert opened.oauth.client_parameters.client_secret == "s3cret"
    exported = penstock("")
    expected = yaml.safe_load(FILE)
    shown = yaml.safe_load(exported)
    assert (
        shown["connections"]
        == yaml.safe_load(FILE.replace("CRM_SECRET", "CRM_CLIENTSECRET").replace("CRM_A", "CRM_X_A"))["connections"]
    )
    assert shown["api_destinations"] == expected["api_destinations"]
    assert shown["buses"]["shop"]["subscribers"]["crm"]["target"] == "api-destination/crm"
    assert penstock(exported, "--prune") == "nothing to do\n"
    changed = FILE.replace("Value: b", "Value: c").replace("per_second: 5", "per_second: 6, http_method: PUT")
    assert plan(penstock(changed)) == ["~ connection crm", "~ api_destination crm"]
    assert penstock(changed) == "nothing to do\n"
    gone = ["- api_destination crm", "- connection crm", "- subscriber shop/crm", "- bus shop"]
    assert plan(penstock("queues: {}", "--prune", "--yes")) == gone


def test_mistakes_have_a_line() -> None:
    text = """
connections:
  a b: {authorization_type: BASIC, auth_parameters: {BasicAuthParameters: {Username: u, Password: p}}}
  c: {authorization_type: API_KEY, auth_parameters: {BasicAuthParameters: {Username: u, Password: p}}}
  d: {authorization_type: API_KEY, auth_parameters: {ApiKeyAuthParameters: {ApiKeyName: n}}}
api_destinations:
  e: {connection: c, invocation_endpoint: "ftp://a"}
buses:
  f: {subscribers: {g: {target: e}}}
"""
    assert [str(mistake).partition(": ")[0] for mistake in read_text(text, "f").mistakes] == [
        "f:3", "f:4", "f:5", "f:7", "f:9",
    ]  # fmt: skip
