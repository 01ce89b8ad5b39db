"""Connects the job to the database, and formats the address for libpq and JDBC."""

from __future__ import annotations

import os
from functools import cache
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.postgres.call_deadline import build_connection_parameters
from penstock.postgres.network import CONNECT_SECONDS
from penstock.postgres.psycopg_connection import LimitedConnection
from penstock.postgres.session_settings import PINNED_SETTINGS

# The planner settings of the service's role are for short statements. A pooler drops `options=`, so each transaction of
# the job sets its own settings. A transaction ends after 30 s, because a longer transaction restrains vacuum.
TRANSACTION_SECONDS: Final = 30
# The number of seconds after which the client ends a call. The server ends a statement earlier.
CALL_SECONDS: Final = 2.0 * TRANSACTION_SECONDS
TRANSACTION_SETTINGS: Final = (
    f"set local statement_timeout = '{TRANSACTION_SECONDS}s'",
    f"set local idle_in_transaction_session_timeout = '{TRANSACTION_SECONDS}s'",
    "set local plan_cache_mode = auto",
    "set local enable_seqscan = on",
    "set local enable_bitmapscan = on",
    "set local enable_hashjoin = on",
    "set local enable_mergejoin = on",
    "set local jit = off",
    *(f"set local {name} = '{value}'" for name, value in PINNED_SETTINGS.items() if name != "client_encoding"),
)


def open_connection(address: str) -> LimitedConnection:
    """Returns a connection in autocommit mode, whose calls end after CALL_SECONDS.

    Raises WrongSettingsError, which names the setting, if the job cannot work with a session of a pooler.
    """
    parameters = {**build_connection_parameters(address), "application_name": "penstock metrics"}
    connection = LimitedConnection.connect(**parameters, autocommit=True, prepare_threshold=None)
    connection.call_seconds = CALL_SECONDS
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.pin_settings()
    return connection


@cache
def add_limits(address: str) -> str:
    """Returns the address with the time limits of `penstock.postgres.network`, for libraries that connect with libpq.

    ADBC reads type names when it connects, before a transaction can change a setting. If there is no pooler, the
    address therefore contains the settings that affect names.
    """
    parameters = build_connection_parameters(address)
    with open_connection(address) as connection:
        if connection.session.is_direct:
            given = parameters.get("options") or ""
            parameters["options"] = f"{given} -c quote_all_identifiers=off -c search_path=pg_catalog".strip()
    return make_conninfo(**parameters)


def build_jdbc_address(address: str) -> tuple[str, dict[str, str]]:
    """Returns the address and the properties (user, password and time limits) for the JDBC driver.

    Raises ValueError for a Unix socket, which the driver cannot use.
    """
    parts = {name: str(value) for name, value in conninfo_to_dict(address).items() if value is not None}
    properties = {
        "user": parts.get("user", os.environ.get("PGUSER", "")),
        "password": parts.get("password", ""),
        "connectTimeout": str(CONNECT_SECONDS),
        "socketTimeout": f"{CALL_SECONDS:.0f}",
        "tcpKeepAlive": "true",
    }
    if "sslmode" in parts:
        properties["sslmode"] = parts["sslmode"]
    if parts.get("target_session_attrs") in ("read-write", "primary"):
        properties["targetServerType"] = "primary"
    hosts, ports = parts.get("host", "127.0.0.1").split(","), parts.get("port", "5432").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    if hosts[0].startswith("/"):
        raise ValueError(f"--jdbc-jar needs TCP: DATABASE_DIRECT_URL or DATABASE_URL names the Unix socket {hosts[0]}")
    places = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=True))
    return f"jdbc:postgresql://{places}/{parts.get('dbname', '')}", properties
