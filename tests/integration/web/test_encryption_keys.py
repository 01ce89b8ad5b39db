"""Tests commands, a start and `penstock doctor` with a QUEUE_ENCRYPTION_KEY of another installation."""

import os
import re
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from penstock.settings import Settings
from penstock_web.cli import main
from penstock_web.local.announced import announce
from penstock_web.local.encryption_key import check_encryption_key
from penstock_web.local.postgres import free_port
from penstock_web.local_error import LocalError
from tests.support.conformance.access_keys import SIGV4, key_ring, new_key, revoke
from tests.support.database import Database
from tests.support.events import store_destination
from tests.support.programs.penstock_service import running_service

OURS, OTHER = (b64encode(bytes([byte] * 32)).decode() for byte in (1, 2))
REFUSED = "QUEUE_ENCRYPTION_KEY is not this installation's key"


@pytest.fixture
def settings(database: Database) -> dict[str, str]:
    return {"QUEUE_ACCESS": "sigv4", "DATABASE_URL": database.api_dsn, "QUEUE_ACCESS_CACHE_SECONDS": "0"}


class Commands:
    """Runs `penstock` in the process of the test with a QUEUE_ENCRYPTION_KEY."""

    def __init__(
        self, settings: dict[str, str], environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._capsys, self._environment = capsys, environment
        for name, value in settings.items():
            environment.setenv(name, value)

    def __call__(self, encryption_key: str, *arguments: str) -> tuple[int, str]:
        """Returns the exit code and the output."""
        self._environment.setenv("QUEUE_ENCRYPTION_KEY", encryption_key)
        code = main(arguments)
        return code, "".join(self._capsys.readouterr())


@pytest.fixture
def command(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(settings, monkeypatch, capsys)


def start(settings: dict[str, str], encryption_key: str, folder: Path | None = None) -> None:
    check_encryption_key(Settings.read({**settings, "QUEUE_ENCRYPTION_KEY": encryption_key}), folder)


def test_a_key_is_made_under_the_key_of_the_service_alone(settings: dict[str, str], command: Commands) -> None:
    """An installation without any key behaves the same way."""
    start(settings, OURS)
    code, said = command(OTHER, "keys", "create")
    assert (code, said.startswith(f"penstock: {REFUSED}")) == (1, True)
    assert "--new-encryption-key" in said
    assert command(OTHER, "keys", "rotate-signing")[0] == 1
    assert command(OTHER, "keys", "create", "--bearer")[0] == 0, "its secret is not encrypted"
    assert command(OURS, "keys", "create")[0] == 0
    assert command(OTHER, "keys", "create")[0] == 1


def test_the_first_key_decides(command: Commands) -> None:
    assert command(OURS, "keys", "create")[0] == 0
    assert command(OTHER, "keys", "create")[0] == 1


def test_a_start_with_another_key(
    settings: dict[str, str], command: Commands, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service exits if it would refuse every client, and warns if it would refuse only some clients."""
    start(settings, OURS)
    start(settings, OTHER)  # This key is accepted, because the installation has no keys.
    assert command(OURS, "keys", "create")[0] == 1
    made = re.search("PSTK[A-Z2-7]+", command(OTHER, "keys", "create")[1])
    assert made is not None
    with pytest.raises(LocalError, match=f"{made[0]}; the service would refuse every client"):
        start(settings, OURS)
    (tmp_path / "encryption_key").write_text(OTHER)
    with pytest.raises(LocalError, match=re.escape(f"The right key is in {tmp_path}/encryption_key")):
        start(settings, OURS, tmp_path)
    assert command(OURS, "keys", "create", "--new-encryption-key")[0] == 0
    capsys.readouterr()
    start(settings, OURS)
    assert (
        f"encrypted with another QUEUE_ENCRYPTION_KEY: {made[0]}; the service refuses their users"
        in capsys.readouterr().err
    )
    assert command(OURS, "keys", "revoke", made[0])[0] == 0
    start(settings, OURS)
    assert capsys.readouterr().err == ""


def test_a_signing_key_of_another_key(
    settings: dict[str, str], command: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(OURS, "keys", "rotate-signing")[0] == 0
    start(settings, OTHER)
    assert "`penstock keys rotate-signing` creates a new signing key" in capsys.readouterr().err
    assert "the key that signs SNS messages was encrypted with" in command(OTHER, "doctor")[1]
    assert command(OTHER, "keys", "rotate-signing")[0] == 0
    start(settings, OTHER)
    assert capsys.readouterr().err == ""


def test_doctor_names_the_keys(command: Commands, database: Database) -> None:
    connection, _ = store_destination(database, "000000000000", "crm")
    made = re.search("PSTK[A-Z2-7]+", command(OURS, "keys", "create")[1])
    assert made is not None
    assert f"access keys were encrypted with another QUEUE_ENCRYPTION_KEY: {made[0]}" in command(OTHER, "doctor")[1]
    said = command(OURS, "doctor")[1]
    assert "access keys were encrypted" not in said
    assert f"connections were encrypted with another QUEUE_ENCRYPTION_KEY, the newest is {connection}" in said
    assert command(OURS, "keys", "revoke", made[0])[0] == 0
    assert "is not the service's key" in command(OTHER, "doctor")[1]


def test_a_client_hears_why_its_key_is_refused(settings: dict[str, str], command: Commands) -> None:
    assert command(OURS, "keys", "create")[0] == 0
    said = command(OTHER, "keys", "create", "--new-encryption-key")[1]
    key_id, secret = re.findall("AWS_[A-Z_]+=(.+)", said)
    database_url = settings["DATABASE_URL"]
    with running_service(database_url, **{**settings, "QUEUE_ENCRYPTION_KEY": OURS}) as service:
        sqs = boto3.client(
            "sqs", endpoint_url=service.url, region_name="us-east-1",
            aws_access_key_id=key_id, aws_secret_access_key=secret,
        )  # fmt: skip
        with pytest.raises(ClientError) as refused:
            sqs.list_queues()
        assert refused.value.response["Error"] == {
            "Type": "Sender",
            "Code": "InvalidClientTokenId",
            "QueryErrorCode": "InvalidClientTokenId",
            "Message": "The access key was encrypted with a different QUEUE_ENCRYPTION_KEY than the service now has.",
        }


def test_the_service_that_runs_here_is_found_with_its_key(
    database: Database, command: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command finds an installation by its folder, and the user must choose if several installations exist."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("PENSTOCK_ENDPOINT", raising=False)
    monkeypatch.setattr(
        "penstock_web.local.chosen_database.service_dsn",
        lambda folder: database.api_dsn if folder == tmp_path / "one" else None,
    )
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one/encryption_key").write_text(OURS)
    with announce("http://127.0.0.1:9401", tmp_path / "one"):
        assert command("", "keys", "create")[0] == 0
        assert command("", "users", "list")[0] == command("", "roles", "list")[0] == 0
        assert "checked: settings" in command("", "doctor")[1]
        code, said = command(OTHER, "keys", "create")
        assert (code, f"The right key is in {tmp_path}/one/encryption_key" in said) == (1, True)
        (tmp_path / "one/encryption_key").write_text(OTHER)  # the first step of a key change
        code, said = command("", "keys", "create")
        assert (code, f"The key is from {tmp_path}/one/encryption_key" in said) == (1, True)
        assert command("", "keys", "create", "--new-encryption-key")[0] == 0
        assert command("", "keys", "create")[0] == 0
        with announce("http://127.0.0.1:9402", tmp_path / "two"):
            code, said = command("", "keys", "list")
            assert (code, "several services run: http://127.0.0.1:9401, http://127.0.0.1:9402" in said) == (1, True)
            monkeypatch.setenv("PENSTOCK_ENDPOINT", "http://127.0.0.1:9401/")
            assert command("", "keys", "list")[0] == 0


# --- first key -------------------------------------------------------------------------------------------------------
# Tests that an installation with --first-key and QUEUE_ACCESS=sigv4 starts with one key, and shows the key once.


COMMAND = [sys.executable, "-m", "penstock_web.cli"]
MIGRATE = ["migrate", "--first-key"]


def shown(text: str) -> list[str]:
    """Returns the key ids in the given log."""
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith("AWS_ACCESS_KEY_ID=")]


def stored(database: Database) -> list[str]:
    with key_ring(database) as ring:
        return [line.split()[1] for line in list(ring.list_keys())[1:]]


def variables(database: Database, **more: str) -> dict[str, str]:
    return {**os.environ, **SIGV4, "DATABASE_URL": database.api_dsn, "DATABASE_DIRECT_URL": "", **more}


def test_processes_that_start_at_once_make_one_key(empty_database: Database) -> None:
    """Each ECS task migrates the database first, as this test does."""
    started = [
        subprocess.Popen([*COMMAND, *MIGRATE], stdout=subprocess.PIPE, text=True, env=variables(empty_database))
        for _ in range(4)
    ]
    outputs = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4
    assert [key for output in outputs for key in shown(output)] == stored(empty_database)
    assert len(stored(empty_database)) == 1


def test_a_key_that_was_revoked_is_not_replaced(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in variables(database).items():
        monkeypatch.setenv(name, value)
    key, _ = new_key(database, "111122223333")
    revoke(database, key)
    assert (main(MIGRATE), shown(capsys.readouterr().out)) == (0, [])
    assert stored(database) == [key]


@pytest.mark.parametrize("access", ["off", "presence"])
def test_a_process_that_verifies_nothing_needs_no_key(
    access: str, database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in variables(database, QUEUE_ACCESS=access, QUEUE_ENCRYPTION_KEY="").items():
        monkeypatch.setenv(name, value)
    assert (main(MIGRATE), shown(capsys.readouterr().out)) == (0, [])
    assert stored(database) == []


@pytest.mark.parametrize("words", [MIGRATE, ["up", "--host", "0.0.0.0", "--first-key"]])
def test_without_an_encryption_key_nothing_starts(words: list[str], database: Database) -> None:
    """Without settings, the process of the image also exits and names the missing setting."""
    port = [] if words is MIGRATE else ["--port", str(free_port())]
    done = subprocess.run(
        [*COMMAND, *words, *port],
        capture_output=True,
        text=True,
        check=False,
        env=variables(database, QUEUE_ENCRYPTION_KEY=""),
    )
    assert done.returncode == 1
    assert done.stderr == (
        "penstock: QUEUE_ACCESS=sigv4 needs QUEUE_ENCRYPTION_KEY. `openssl rand -base64 32` creates a key. "
        "QUEUE_ACCESS=off admits every caller\n"
    )
