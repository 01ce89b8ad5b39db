"""Keys that sign notifications."""

from typing import NamedTuple

from penstock.effects import Statement


class SigningKeyRow(NamedTuple):
    """The key that signs now. `sealed`: whether `private_key` is encrypted."""

    key_id: str
    sealed: bool
    private_key: bytes


CURRENT_SIGNING_KEY = Statement("queue.current_signing_key", (), SigningKeyRow)
ADD_SIGNING_KEY = Statement("queue.add_signing_key", ("text", "bool", "bytea", "text", "bool"), SigningKeyRow)


class CertificateRow(NamedTuple):
    """A certificate, PEM."""

    certificate: str


FIND_CERTIFICATE = Statement("queue.find_certificate", ("text",), CertificateRow)
