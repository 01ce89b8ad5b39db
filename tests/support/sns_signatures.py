"""Verifies SNS messages according to AWS's documentation, without the signer's code.

The signed members have a fixed order. The signed text contains each member's name, a line feed, its value and a line
feed. Subject is signed only if the message has a subject. Version 1 uses RSA with SHA-1, and version 2 RSA with SHA-256
("Verifying the signatures of Amazon SNS messages", SNS Developer Guide).
"""

from base64 import b64decode
from collections.abc import Iterator, Mapping

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": _CONFIRMATION,
    "UnsubscribeConfirmation": _CONFIRMATION,
}
_DIGESTS: dict[str, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}


def public_key(certificate: str) -> rsa.RSAPublicKey:
    key = x509.load_pem_x509_certificate(certificate.encode()).public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    return key


def verify(message: Mapping[str, str], certificate: str) -> None:
    """Raises InvalidSignature, and KeyError for an unknown type or version."""
    names = SIGNED[message["Type"]]
    parts = {name: message[name].encode() for name in names if name in message}
    verify_bytes(parts, message["Signature"], message["SignatureVersion"], public_key(certificate))


def verify_bytes(parts: Mapping[str, bytes], signature: str, version: str, key: rsa.RSAPublicKey) -> None:
    """Verifies the signature of values in UTF-8, in the order of `parts`. Raises InvalidSignature."""
    text = b"".join(name.encode() + b"\n" + value + b"\n" for name, value in parts.items())
    key.verify(b64decode(signature), text, padding.PKCS1v15(), _DIGESTS[version])


def flipped(value: bytes) -> Iterator[bytes]:
    """Yields the value with one bit flipped, for each of its bits."""
    for bit in range(len(value) * 8):
        changed = bytearray(value)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)
