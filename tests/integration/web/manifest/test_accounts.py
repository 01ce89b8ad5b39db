"""Tests that `penstock apply` and `export` change and read one account (docs/guides/penstock_file.md)."""

from pathlib import Path

import httpx
import pytest

from penstock_web.cli import main
from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4, key_ring, new_key
from tests.support.database import Database
from tests.support.programs.penstock_service import running_service


def test_keys_of_two_accounts_change_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one key of each account, --prune would delete queues of one and schedules of the other."""
    file = tmp_path / "penstock.yaml"
    file.write_text("queues: {}\n")
    apply = ["apply", "-f", str(file), "--prune", "--yes"]
    tokens = {}
    with key_ring(database) as ring:
        for account in (OWNER, PARTNER):
            tokens[account] = ring.create(account, "", bearer=True).token
    with running_service(database.api_dsn, **SIGV4) as service:
        monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
        use_keys(monkeypatch, *new_key(database, OWNER), tokens[OWNER])
        assert main(["create", "kept"]) == 0
        monkeypatch.setenv("PENSTOCK_TOKEN", tokens[PARTNER])
        for command in (apply, ["export"]):
            assert main(command) == 1
            said = f"the AWS key is for the account {OWNER}, but REST requests are for the account {PARTNER}"
            assert said in capsys.readouterr().err
        use_keys(monkeypatch, *new_key(database, PARTNER), tokens[PARTNER])
        assert main([*apply, "--account", OWNER]) == 1
        assert f"the plan is for the account {PARTNER}, not for {OWNER}" in capsys.readouterr().err
        assert main([*apply, "--account", PARTNER]) == 0
        assert capsys.readouterr().out == "nothing to do\n"
        use_keys(monkeypatch, *new_key(database, OWNER), tokens[OWNER])
        assert main([*apply, "--account", OWNER]) == 0
        assert capsys.readouterr().out.splitlines()[:2] == [f"account {OWNER}, region us-east-1:", "- queue kept"]


def test_without_access_control_a_tenants_keys_change_nothing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If QUEUE_ACCESS is off, the service ignores keys. `--account` then stops the command."""
    file = tmp_path / "penstock.yaml"
    file.write_text("queues: {}\n")
    with running_service(database.api_dsn) as service:
        monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
        use_keys(monkeypatch, "PSTK0000000000000000", "secret", "PSTB.secret")
        assert main(["create", "kept"]) == 0
        capsys.readouterr()
        assert main(["apply", "-f", str(file), "--prune", "--yes", "--account", PARTNER]) == 1
        assert f"the plan is for the account {OWNER}, not for {PARTNER}" in capsys.readouterr().err
        response = httpx.get(f"{service.url}/v1/queues")
    assert [queue["name"] for queue in response.json()["queues"]] == ["kept"]
    assert response.headers["penstock-account"] == OWNER


def use_keys(monkeypatch: pytest.MonkeyPatch, key_id: str, secret: str, token: str) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    monkeypatch.setenv("PENSTOCK_TOKEN", token)
