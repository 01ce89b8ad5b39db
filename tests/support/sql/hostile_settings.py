"""Lists settings that change the meaning of texts and times in a session, and applies them to a database, a role, or
libpq.

Source: PostgreSQL documentation, "Client Connection Defaults", "Version and Platform Compatibility" and libpq's
"Environment Variables".
"""

from collections.abc import Iterable
from typing import Final, Literal

import psycopg
from psycopg import sql

Place = Literal["database", "role", "environment"]
Setting = tuple[str, str]

HOSTILE: Final[tuple[Setting, ...]] = (
    ("client_encoding", "LATIN1"),
    ("client_encoding", "SQL_ASCII"),
    ("client_encoding", "WIN1252"),
    ("DateStyle", "SQL, DMY"),
    ("DateStyle", "German"),
    ("DateStyle", "Postgres, DMY"),
    ("TimeZone", "Pacific/Apia"),
    ("IntervalStyle", "sql_standard"),
    ("IntervalStyle", "iso_8601"),
    ("bytea_output", "escape"),
    ("standard_conforming_strings", "off"),
    ("extra_float_digits", "-15"),
    ("default_transaction_isolation", "serializable"),
    ("default_transaction_isolation", "repeatable read"),
    ("default_transaction_read_only", "on"),
    ("default_transaction_deferrable", "on"),
    ("search_path", "evil, pg_catalog"),
    ("array_nulls", "off"),
    ("transform_null_equals", "on"),
    ("quote_all_identifiers", "on"),
)
READ_ONLY: Final[Setting] = ("default_transaction_read_only", "on")
WRITABLE: Final = tuple(setting for setting in HOSTILE if setting != READ_ONLY)
"""Settings that apply together."""
TRACKED: Final = ("client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings")
"""Settings that PgBouncer tracks for each client."""
HARMLESS: Final = ("default_transaction_deferrable", "quote_all_identifiers")
"""Settings on which no call of Penstock depends."""
_VARIABLES: Final = {"client_encoding": "PGCLIENTENCODING", "DateStyle": "PGDATESTYLE", "TimeZone": "PGTZ"}

EVIL_SCHEMA: Final = """
create schema if not exists evil;
grant usage on schema evil to public;
create or replace function evil.clock_timestamp() returns timestamptz language sql as $$ select timestamptz 'epoch' $$;
create or replace function evil.now() returns timestamptz language sql as $$ select timestamptz 'epoch' $$;
create or replace function evil.lower(text) returns text language sql as $$ select 'evil' $$;
create or replace function evil.md5(text) returns text language sql as $$ select 'evil' $$;
create or replace function evil.length(text) returns int language sql as $$ select -1 $$;
create or replace function evil.octet_length(text) returns int language sql as $$ select -1 $$;
create or replace function evil.to_jsonb(text) returns jsonb language sql as $$ select null::jsonb $$;
create or replace function evil.cardinality(anyarray) returns int language sql as $$ select 0 $$
"""
"""Functions that PostgreSQL finds first if `evil` precedes pg_catalog in search_path."""


def give(
    administration: psycopg.Connection[tuple[object, ...]], place: Place, setting: Setting, database: str, role: str
) -> dict[str, str]:
    """Applies a setting to the role's new sessions in the database. For libpq, returns the environment variables that
    apply the setting.
    """
    name, value = setting
    if name == "search_path":
        administration.execute(EVIL_SCHEMA.encode())
    if place == "environment":
        options = f"-c {name}={value}".replace(", ", ",").replace("repeatable read", "repeatable\\ read")
        return {_VARIABLES[name]: value} if name in _VARIABLES else {"PGOPTIONS": options}
    whose = sql.SQL("database {}").format(sql.Identifier(database))
    if place == "role":
        whose = sql.SQL("role {} in database {}").format(sql.Identifier(role), sql.Identifier(database))
    values = value.split(", ") if name == "search_path" else [value]
    given = sql.SQL(", ").join(map(sql.Literal, values))
    administration.execute(sql.SQL("alter {} set {} = {}").format(whose, sql.Identifier(name.lower()), given))
    return {}


def give_all(
    administration: psycopg.Connection[tuple[object, ...]],
    place: Place,
    database: str,
    role: str,
    settings: Iterable[Setting] = WRITABLE,
) -> dict[str, str]:
    """Applies all settings. For libpq, returns the environment variables that apply the settings."""
    variables: dict[str, str] = {}
    for setting in settings:
        for name, value in give(administration, place, setting, database, role).items():
            variables[name] = f"{variables.get(name, '')} {value}" if name == "PGOPTIONS" else value
    return variables
