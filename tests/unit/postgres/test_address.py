"""Addresses for pg8000, against what libpq reads in them."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from penstock.postgres.address import list_hosts, parse_address
from penstock.settings import SettingError

ADDRESSES = [
    "postgresql://",
    "postgresql://localhost",
    "postgres://user@localhost/mydb",
    "postgresql://user:secret@localhost:5433/mydb",
    "postgresql://us%40er:p%3Aa%2Fss%20w@host.example/my%20db?application_name=my%20app",
    "postgresql://host1:123,host2:456/somedb?target_session_attrs=read-write",
    "postgresql://one,two:6432/db",
    "postgresql:///mydb?host=localhost&port=5433",
    "postgresql://user@/db?host=/var/run/postgresql",
    "postgresql://[2001:db8::1234]:5433/database",
    "postgresql://[::1]/database?sslmode=verify-full&sslrootcert=system",
    "postgresql://%2Fvar%2Flib%2Fpostgresql/dbname",
    "host=localhost port=5432 dbname=mydb connect_timeout=10",
    "host = one,two port= 5432 ,  user='o''",
    r"user='it\'s' password='a \\ b=c' dbname = 'two words'",
    "password='' host=/tmp",
    "host=a hostaddr=10.0.0.1 sslmode=require",
    "",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_same_as_libpq(address: str) -> None:
    try:
        expected = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    except Exception:  # noqa: BLE001 - libpq refuses it
        with pytest.raises(SettingError):
            parse_address(address)
        return
    given = parse_address(address)
    assert {name: value for name, value in given.items() if value} == {
        name: value for name, value in expected.items() if value.strip(",")
    }


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        ("postgresql://u@one,two:6432/db", [("one", 5432), ("two", 6432)]),
        ("host=one,two port=6432", [("one", 6432), ("two", 6432)]),
        ("host=one,two port=1,", [("one", 1), ("two", 5432)]),
        ("host=name hostaddr=10.0.0.1", [("10.0.0.1", 5432)]),
        ("dbname=db", [("localhost", 5432)]),
        ("host=/tmp port=5433", [("/tmp", 5433)]),
    ],
)
def test_hosts(address: str, hosts: list[tuple[str, int]]) -> None:
    assert list_hosts(parse_address(address)) == hosts


def test_what_pg8000_cannot_do_is_refused() -> None:
    with pytest.raises(SettingError, match="DATABASE_URL has sslcert, sslkey, which"):
        parse_address("postgresql://localhost/db?sslcert=a&sslkey=b")
    with pytest.raises(SettingError, match="2 ports for 3 hosts"):
        list_hosts(parse_address("host=a,b,c port=1,2"))
    with pytest.raises(SettingError) as refused:
        parse_address("user:secret@host/db")
    assert "secret" not in str(refused.value)
