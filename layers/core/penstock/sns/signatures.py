"""Signs SNS messages, and creates signing keys.

A key is an RSA-2048 private key with its self-signed certificate. The database stores the key, and all processes and
functions share it. Of the modules that sign, only this one imports `cryptography`.

Version 1 is RSA with SHA-1, and version 2 is RSA with SHA-256. Both use PKCS #1 v1.5 and base64 ("Verifying the
signatures of Amazon SNS messages", SNS Developer Guide). `benchmarks.costs.notifications` of commit 82fb1cae measured
the cost of a signature.
"""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

KEY_BITS = 2048
CERTIFICATE_DAYS = 3650
COMMON_NAME = "sns.amazonaws.com"  # AWS's name in most regions, which the SDK for Java 2 requires


class NewSigningKey(NamedTuple):
    """A new key in its stored format: an id of 32 hex digits, and two PEM texts."""

    key_id: str
    private_key: bytes
    certificate: str


class Signer:
    """Signs with one key. Raises ValueError for a PEM without a key."""

    __slots__ = ("_key", "certificate_path", "key_id")

    def __init__(self, key_id: str, private_key: bytes) -> None:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

        # The key was validated when Penstock created it. Another validation would add 40 ms to every cold start.
        key = load_pem_private_key(private_key, None, unsafe_skip_rsa_key_validation=True)
        self._key: RSAPrivateKey = key  # type: ignore[assignment]
        self.key_id = key_id
        self.certificate_path = build_certificate_path(key_id)

    def sign(self, text: str, version: str) -> str:
        """Returns the signature of a text (UTF-8) in base64. `version` is "1" or "2"."""
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415

        digest = hashes.SHA1() if version == "1" else hashes.SHA256()  # noqa: S303 - version 1 is SHA-1
        return b64encode(self._key.sign(text.encode(), padding.PKCS1v15(), digest)).decode()


class SigningKeyCache:
    """A process's cache: the signing key, the key's next check (`monotonic`), and a new key to offer the database."""

    __slots__ = ("_offer", "_until", "signer")

    def __init__(self) -> None:
        self.signer: Signer | None = None
        self._until = 0.0
        self._offer: NewSigningKey | None = None

    def fresh(self, now: float) -> Signer | None:
        """Returns the key unless the next check is due."""
        return self.signer if now < self._until else None

    def keep(self, signer: Signer, until: float) -> None:
        self.signer, self._until, self._offer = signer, until, None

    def offer(self) -> NewSigningKey:
        """Returns a new key.

        Concurrent requests of the process offer the same key, because a key takes 50 ms to create.
        """
        if self._offer is None:
            self._offer = build_key()
        return self._offer


def build_certificate_path(key_id: str) -> str:
    return f"/SimpleNotificationService-{key_id}.pem"


def build_key() -> NewSigningKey:
    """Creates a key with its certificate, which is one PEM block with only line feeds."""
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, COMMON_NAME)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=CERTIFICATE_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(COMMON_NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return NewSigningKey(token_hex(16), private, certificate.public_bytes(serialization.Encoding.PEM).decode())
