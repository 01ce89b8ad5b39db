"""Tests the container's PgBouncer: its entry point, and TLS to clients and to PostgreSQL."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from penstock.postgres.database import DriverError, find_connection_factory
from penstock.settings import DRIVERS
from penstock_web.local.postgres import DATABASE, ROLE, Postgres, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.database import memory_directory
from tests.support.programs.container_pooler import ROOT, responses, running_pooler
from tests.support.tls.certificates import Authority

# --- container pooler ------------------------------------------------------------------------------------------------
# Tests the container's entry point and scripts with a real PgBouncer and PostgreSQL.

POOLER_PASSWORD = 'a pooler\'s "own" word'


@pytest.fixture(scope="module")
def migrated_server() -> Iterator[Postgres]:
    """Yields a database after the initialization script of PostgreSQL's image."""
    with (
        ephemeral_state(memory_directory()) as state,
        running_postgres(state, SystemAccount.choose()) as migrated_server,
    ):
        script = (ROOT / "infra/container/postgres/pooler.sh").read_text()
        superuser = psycopg.conninfo.conninfo_to_dict(migrated_server.superuser_dsn(DATABASE))
        address = {
            "PGHOST": str(superuser["host"]),
            "PGPORT": str(superuser["port"]),
            "PGPASSWORD": str(superuser.get("password") or ""),
            "POSTGRES_USER": str(superuser["user"]),
            "POSTGRES_DB": DATABASE,
            "POOLER_PASSWORD": POOLER_PASSWORD,
        }
        script = script.replace("/usr/local/share/penstock", str(ROOT / "infra/pgbouncer"))
        subprocess.run(["sh", "-c", script], env={**os.environ, **address}, check=True, stdout=subprocess.DEVNULL)
        yield migrated_server


def test_other_roles_are_looked_up(migrated_server: Postgres) -> None:
    """With POOLER_PASSWORD, roles that are created later can log in, but only with their passwords."""
    with running_pooler(migrated_server, POOLER_PASSWORD=POOLER_PASSWORD) as port:
        with psycopg.connect(migrated_server.superuser_dsn(DATABASE), autocommit=True) as connection:
            connection.execute("create role shop login password 'first'")
        assert responses(port, "shop", "first")
        assert not responses(port, "shop", "second")


def test_without_the_password_only_the_service_comes_in(migrated_server: Postgres) -> None:
    """On RDS, no role can read password hashes."""
    with psycopg.connect(migrated_server.superuser_dsn(DATABASE), autocommit=True) as connection:
        connection.execute("create role other login password 'first'")
    with running_pooler(migrated_server) as port:
        assert not responses(port, "other", "first")


# --- tls -------------------------------------------------------------------------------------------------------------
# Tests TLS to PgBouncer and to PostgreSQL with both drivers: the certificate's issuer and host.

OURS, OTHERS = Authority(), Authority("another authority")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()) as server:
        yield server


@pytest.fixture
def authorities(tmp_path: Path) -> dict[str, Path]:
    files = {"ours": tmp_path / "ours.pem", "others": tmp_path / "others.pem"}
    files["ours"].write_text(OURS.pem)
    files["others"].write_text(OTHERS.pem)
    return files


def dsn(server: Postgres, port: int, host: str = "127.0.0.1", mode: str = "verify-full", roots: Path | str = "") -> str:
    more = f"&sslrootcert={quote(str(roots))}" if roots else ""
    return f"postgresql://{ROLE}:{server.password}@{host}:{port}/{DATABASE}?sslmode={mode}{more}"


def connects(driver: str, address: str) -> bool:
    try:
        find_connection_factory(driver)(address, 8).close()
    except DriverError:
        return False
    return True


@pytest.mark.parametrize("driver", DRIVERS)
def test_clients_verify_the_pooler(server: Postgres, authorities: dict[str, Path], driver: str) -> None:
    own = OURS.server("127.0.0.1")
    with running_pooler(server, CLIENT_TLS_CERTIFICATE=own.certificate, CLIENT_TLS_KEY=own.key) as port:
        assert connects(driver, dsn(server, port, roots=authorities["ours"]))
        assert not connects(driver, dsn(server, port, roots=authorities["others"]))
        assert not connects(driver, dsn(server, port, roots="system"))
        assert connects(driver, dsn(server, port, mode="require"))
        assert not connects(driver, dsn(server, port, mode="disable"))


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_certificate_of_another_host(server: Postgres, authorities: dict[str, Path], driver: str) -> None:
    other = OURS.server("127.0.0.2")
    with running_pooler(server, CLIENT_TLS_CERTIFICATE=other.certificate, CLIENT_TLS_KEY=other.key) as port:
        assert not connects(driver, dsn(server, port, roots=authorities["ours"]))
        assert connects(driver, dsn(server, port, mode="verify-ca", roots=authorities["ours"]))


@pytest.mark.parametrize("driver", DRIVERS)
def test_without_certificates_there_is_no_tls(server: Postgres, driver: str) -> None:
    with running_pooler(server) as port:
        assert connects(driver, dsn(server, port, mode="disable"))
        assert not connects(driver, dsn(server, port, mode="require"))


@pytest.fixture(scope="module")
def server_with_tls(server: Postgres) -> Iterator[Postgres]:
    """Yields a server that refuses connections without TLS, like infra/terraform. Skips the test if PostgreSQL lacks
    TLS."""
    with psycopg.connect(server.superuser_dsn()) as connection:
        if connection.execute("show ssl_library").fetchone() == ("",):
            pytest.skip("this PostgreSQL was built without TLS")
    account = SystemAccount.choose()
    with ephemeral_state(memory_directory()) as state:
        folder, own = account.create_private_folder(state / "tls"), OURS.server("127.0.0.1")
        settings = {
            "ssl": "on",
            "ssl_cert_file": str(account.write(folder / "crt", own.certificate)),
            "ssl_key_file": str(account.write(folder / "key", own.key)),
        }
        with running_postgres(state, account, settings=settings) as own_server:
            hba = own_server.data / "pg_hba.conf"
            hba.write_text(hba.read_text().replace("\nhost ", "\nhostssl "))
            with psycopg.connect(own_server.superuser_dsn(), autocommit=True) as connection:
                connection.execute("select pg_reload_conf()")
            yield own_server


@pytest.mark.parametrize("driver", DRIVERS)
def test_clients_verify_the_server(server_with_tls: Postgres, authorities: dict[str, Path], driver: str) -> None:
    port = server_with_tls.port
    assert connects(driver, dsn(server_with_tls, port, roots=authorities["ours"]))
    assert not connects(driver, dsn(server_with_tls, port, roots=authorities["others"]))
    assert not connects(driver, dsn(server_with_tls, port, mode="disable"))


def test_the_pooler_verifies_the_server(server_with_tls: Postgres) -> None:
    account = server_with_tls.account
    with ephemeral_state(memory_directory()) as state:
        folder = account.create_private_folder(state / "tls")
        for authority, works in ((OURS, True), (OTHERS, False)):
            file = account.write(folder / "authorities", authority.pem)
            with running_pooler(
                server_with_tls, SERVER_TLS="verify-full", SERVER_CA_FILE=str(file), ready=works
            ) as port:
                assert connects("psycopg", dsn(server_with_tls, port, mode="disable")) is works
