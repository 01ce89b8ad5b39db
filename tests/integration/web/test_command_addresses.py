"""Tests how commands find a service, and which texts they print about keys, certificates and databases."""

import json
import ssl
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from penstock.verdicts import Kind, Verdict
from penstock_web.cli import main
from penstock_web.cli.client import RestClient
from penstock_web.cli.lag import Rates, cells
from penstock_web.doctor.checks import CheckOutcome
from penstock_web.doctor.examination import Finding
from penstock_web.local import migrating
from penstock_web.local.announced import Running, announce, list_running_services
from penstock_web.local_error import LocalError
from tests.support.conformance.access_keys import SIGV4
from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.tls.certificates import Authority


@pytest.mark.parametrize("name", ["PENSTOCK_TOKEN", "PENSTOCK_REGION"])
def test_values_that_no_header_can_have_are_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "Schlüssel")
    with pytest.raises(LocalError, match=f"{name} contains a character"):
        RestClient("http://127.0.0.1:1")


def test_a_database_that_is_away_is_named() -> None:
    """The REST API returns the text of SQS, which does not mention a database."""
    message = "The request has failed due to a temporary failure of the server."
    error = {"code": "service_unavailable", "message": message}
    said = RestClient("http://127.0.0.1:1")._describe_error(json.dumps({"error": error}).encode(), 503)
    assert said == "The service at http://127.0.0.1:1 cannot use its database. `penstock doctor` explains the reason."


def test_no_name_writes_to_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Anyone can choose the names of roles, prepared transactions and functions' results."""
    name = "a\x1b[2K\x9b2K"
    found = CheckOutcome([Finding("database", f"the role {name} …", "", "")], ["roles"], {})
    monkeypatch.setattr("penstock_web.doctor.checks.examine", lambda *_, **__: found)
    assert main(["doctor", "--database", "postgresql://127.0.0.1:1/x"]) == 1
    migrating.warn(name)
    migrating.say(name)
    shown = cells(name, Verdict(Kind.OK, cause_text=name), Rates(0, 0))
    printed = "".join((*capsys.readouterr(), *map(str, shown)))
    assert name.encode("unicode_escape").decode() in printed
    assert all(sign.isprintable() or sign == "\n" for sign in printed), printed


def test_with_keys(postgres: TestServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with postgres.database() as database:
        for name, value in {**SIGV4, "DATABASE_URL": database.api_dsn}.items():
            monkeypatch.setenv(name, value)
        assert main(["keys", "create", "--bearer"]) == 0
        token = capsys.readouterr().out.splitlines()[0].partition("=")[2]
        with running_service(database.api_dsn, **SIGV4) as service:
            monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
            assert main(["queues"]) == 1
            assert "PENSTOCK_TOKEN is not set. `penstock keys create --bearer`" in capsys.readouterr().err
            assert main(["export"]) == 1
            assert "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set" in capsys.readouterr().err
            monkeypatch.setenv("PENSTOCK_TOKEN", token)
            assert main(["queues"]) == 0
            there = ["--endpoint", service.url]
            for command in ("users create ann --policy read", "users limit ann --policy operate"):
                assert main([*command.split(), *there]) == 0
            capsys.readouterr()
            assert main(["keys", "create", "--user", "ann", "--bearer", "--expires", "90d", *there]) == 0
            key = capsys.readouterr().out.partition("=")[2].partition(".")[0]
            assert main(["users", "show", "ann", *there]) == 0
            assert "operate" in (shown := capsys.readouterr().out)
            assert key in shown
            for command in (f"keys revoke {key}", "users end ann"):
                assert main([*command.split(), *there]) == 0
            assert main(["users", "end", "ann", *there]) == 1
            assert main(["keys", "create", "--account", "111122223333", *there]) == 1
            assert "--account and --endpoint exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "is_same"),
    [
        ("postgresql://me:secret@127.0.0.1:5599/penstock", True),
        ("host=localhost port=5599 dbname=penstock user=other", True),
        ("postgresql://127.0.0.1:6499/penstock", True),  # its pooler
        ("postgresql://me:secret@127.0.0.1:5599/other", False),
        ("postgresql://me:secret@db.test/penstock", False),
    ],
)
def test_a_command_refuses_a_service_with_another_database(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, is_same: bool
) -> None:
    """`penstock keys` changes the database in DATABASE_URL, so `purge` in the same shell must not use another
    installation."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PENSTOCK_ENDPOINT", raising=False)
    monkeypatch.setenv("DATABASE_URL", url)
    places = ("postgresql://penstock@127.0.0.1:5599/penstock", "postgresql://penstock@127.0.0.1:6499/penstock")
    with announce("http://127.0.0.1:1", tmp_path, places):
        assert main(["purge", "orders", "--yes"]) == 1
        refused = capsys.readouterr().err
        assert ("uses another database" in refused) is not is_same
        assert ("no service responds at http://127.0.0.1:1" in refused) is is_same
        assert "secret" not in refused
        if not is_same:
            assert main(["status", "--endpoint", "http://127.0.0.1:1"]) == 1
            assert "no service responds" in capsys.readouterr().err


COMMANDS_OVER_TLS = (
    "apply --file {file} --endpoint {url}", "apply --file {file} --endpoint {url} --region us-east-1",
    "export --endpoint {url}", "export --endpoint {url} --region us-east-1", "import --from {url}",
    "demo --endpoint {url}", "queues --endpoint {url}", "topics list --endpoint {url}",
    "schedules list --endpoint {url}", "metrics lag --endpoint {url}", "send orders x --endpoint {url}",
    "webhooks list --endpoint {url}", "mappings list --endpoint {url}", "keys list --endpoint {url}",
    "users list --endpoint {url}",
)  # fmt: skip


def test_a_certificate_that_is_not_trusted_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """SSL_CERT_FILE names the certificate authority (OpenSSL, SSL_CTX_load_verify_locations)."""
    authority = Authority()
    made = authority.server("127.0.0.1")
    (tmp_path / "server.pem").write_text(made.certificate + made.key)
    (tmp_path / "authority.pem").write_text(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with HTTPServer(("127.0.0.1", 0), Degraded) as server:
        plain = f"127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        assert main(["status", "--endpoint", f"https://{plain}"]) == 1
        assert f"no TLS connection to https://{plain} is possible: " in capsys.readouterr().err
        server.shutdown()
    with HTTPServer(("127.0.0.1", 0), Degraded) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        address = f"https://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        assert main(["status", "--endpoint", address]) == 1
        said = capsys.readouterr().err
        assert f"the certificate of {address} is not trusted: " in said
        assert "SSL_CERT_FILE" in said
        (tmp_path / "penstock.yaml").write_text("queues: {}\n")
        monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
        for command in COMMANDS_OVER_TLS:
            arguments = command.format(file=tmp_path / "penstock.yaml", url=address).split()
            assert main(arguments) == 1
            first, *others = capsys.readouterr().err.splitlines()
            assert (first.partition(": ")[2].startswith(f"the certificate of {address} is not"), others) == (True, [])
            assert "SSL_CERT_FILE" in first
        monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "server.pem"))
        assert main(["import", "--from", address]) == 1
        assert "Set AWS_CA_BUNDLE to a file" in capsys.readouterr().err
        monkeypatch.delenv("AWS_CA_BUNDLE")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
        assert main(["status", "--endpoint", address]) == 1
        assert "not ready: a test" in capsys.readouterr().out
        for command in COMMANDS_OVER_TLS:  # From here on, the client trusts the certificate.
            main(command.format(file=tmp_path / "penstock.yaml", url=address).split())
            assert "certificate" not in "".join(capsys.readouterr())
        server.shutdown()


class Degraded(BaseHTTPRequestHandler):
    """Answers every GET request as /readyz does during an outage."""

    def do_GET(self) -> None:
        body = b'{"status": "degraded", "reason": "a test"}'
        self.send_response(503)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Writes nothing."""


def test_a_running_process_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file is valid only until its process ends. The command ignores the file of a killed process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    left = tmp_path / "penstock/endpoints/127.0.0.1_1"
    left.parent.mkdir(parents=True)
    left.write_text("http://127.0.0.1:1")
    one = Running("http://127.0.0.1:9400", None, ("host=db dbname=a", "host=pooler dbname=a"))
    other = Running("http://127.0.0.1:9401", tmp_path)
    with announce(*one):
        assert list_running_services() == [one]
        with announce(*other):
            assert list_running_services() == [one, other]
    assert list_running_services() == []
    assert not left.exists()
