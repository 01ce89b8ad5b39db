"""Tests the encryption of secrets at rest."""

from __future__ import annotations

import hmac
import struct
import subprocess
import sys
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.access.receipt_handle import ReceiptHandles
from penstock.access.secret_encryption import DecryptionError, SecretCipher
from penstock.aws.named_queue import NamedQueue
from penstock.postgres.statements.messages import ReceiptHandle
from penstock.settings import SettingError
from tests.support.forged_receipt_handles import forgeries, handles_of, systematic

KEY, OTHER = b64encode(bytes(range(32))).decode(), b64encode(bytes(32)).decode()
ROW = ("PSTKAAAAAAAAAAAAAAAA", "000000000000")


def test_a_sealed_secret_can_be_opened_and_does_not_show() -> None:
    encrypted = SecretCipher(KEY).encrypt("secret", *ROW)
    assert SecretCipher(KEY).decrypt(encrypted, *ROW) == "secret"
    assert b"secret" not in encrypted
    assert SecretCipher(KEY).encrypt("secret", *ROW) != encrypted


def test_another_key_row_or_byte() -> None:
    encrypted = SecretCipher(KEY).encrypt("secret", *ROW)
    attempts = [
        (OTHER, encrypted, ROW),
        (KEY, encrypted, (ROW[0], "111122223333")),
        (KEY, encrypted, ("PSTKB", ROW[1])),
    ]
    attempts += [
        (KEY, encrypted[:place] + bytes([encrypted[place] ^ 1]) + encrypted[place + 1 :], ROW)
        for place in range(len(encrypted))
    ]
    attempts += [(KEY, encrypted[:length], ROW) for length in range(len(encrypted))]
    for key, text, row in attempts:
        with pytest.raises(DecryptionError):
            SecretCipher(key).decrypt(text, *row)


@pytest.mark.parametrize("key", ["", "short", b64encode(bytes(31)).decode(), "é" * 44, KEY + "!"])
def test_a_bad_key_is_named_and_not_shown(key: str) -> None:
    with pytest.raises(SettingError, match="QUEUE_ENCRYPTION_KEY") as refusal:
        SecretCipher(key)
    assert not key or key not in str(refusal.value)


def test_only_users_of_cryptography_import_it() -> None:
    program = (
        "import sys\n"
        "from penstock.context import Environment\n"
        "from penstock.settings import Settings\n"
        "import penstock.gateway\n"
        "Environment(Settings.read({'QUEUE_ACCESS': 'presence'}), None)\n"
        "sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# --- receipt handle --------------------------------------------------------------------------------------------------
# Tests that a receipt handle is valid only if Penstock issued exactly this text, and only for its queue. The tests
# compare the MAC, HMAC-SHA256 (RFC 2104), with the result of the standard library.

ARN = "arn:aws:sqs:us-east-1:000000000000:orders"
QUEUE = NamedQueue(ARN)
HANDLE_KEY = bytes(range(32))
RECEIPTS = ReceiptHandles(HANDLE_KEY)
HANDLE = ReceiptHandle(7, 3, 2**40, 2**45 - 1, 2, 2**31 - 1, bytes(range(16)))

int4 = st.integers(-(2**31), 2**31 - 1)
int8 = st.integers(-(2**63), 2**63 - 1)
handles = st.builds(
    ReceiptHandle,
    st.integers(0, 2**32 - 1),
    st.integers(-(2**15), 2**15 - 1),
    int8,
    int8,
    int4,
    int4,
    st.binary(min_size=16, max_size=16),
)


@given(handles)
def test_a_sealed_handle_opens_unchanged(handle: ReceiptHandle) -> None:
    text = RECEIPTS.seal(QUEUE, handle)
    assert len(text) == 88
    assert RECEIPTS.open(QUEUE, text) == handle


def test_the_seal_is_an_hmac_over_queue_and_payload() -> None:
    data = urlsafe_b64decode(RECEIPTS.seal(QUEUE, HANDLE))
    payload, mac = data[:-19], data[-19:]
    assert mac == hmac.digest(HANDLE_KEY, ARN.encode() + b"\0" + payload, "sha256")[:19]


@pytest.mark.parametrize("version", [0, 2, 255])
def test_a_handle_of_another_version_is_refused(version: int) -> None:
    payload = struct.pack(">BIhqqii16s", version, *HANDLE)
    mac = hmac.digest(HANDLE_KEY, ARN.encode() + b"\0" + payload, "sha256")[:19]
    assert RECEIPTS.open(QUEUE, urlsafe_b64encode(payload + mac).decode()) is None


def test_every_flipped_bit_is_refused() -> None:
    text = RECEIPTS.seal(QUEUE, HANDLE).encode()
    for position in range(len(text)):
        for bit in range(8):
            forged = bytearray(text)
            forged[position] ^= 1 << bit
            assert RECEIPTS.open(QUEUE, forged.decode("latin-1")) is None


@given(st.text(max_size=120))
def test_made_up_texts_are_refused(text: str) -> None:
    assert RECEIPTS.open(QUEUE, text) is None


@pytest.mark.parametrize("length", range(88))
def test_truncated_handles_are_refused(length: int) -> None:
    assert RECEIPTS.open(QUEUE, RECEIPTS.seal(QUEUE, HANDLE)[:length]) is None


OTHERS = (
    "arn:aws:sqs:us-east-1:000000000000:orders2", "arn:aws:sqs:us-east-1:000000000000:order",
    "arn:aws:sqs:us-east-1:000000000000:Orders", "arn:aws:sqs:us-east-1:000000000000:orders.fifo",
    "arn:aws:sqs:us-east-1:000000000000:", "arn:aws:sqs:us-east-1:111122223333:orders",
    "arn:aws:sqs:us-east-1:000000000001:orders", "arn:aws:sqs:us-east-1::orders",
    "arn:aws:sqs:eu-west-1:000000000000:orders", "arn:aws:sqs:us-east-2:000000000000:orders",
    "arn:aws-cn:sqs:us-east-1:000000000000:orders", "arn:aws:sns:us-east-1:000000000000:orders", "orders", "",
)  # fmt: skip


@pytest.mark.parametrize("arn", OTHERS)
def test_a_handle_of_another_queue_account_or_region_is_refused(arn: str) -> None:
    assert RECEIPTS.open(NamedQueue(arn), RECEIPTS.seal(QUEUE, HANDLE)) is None
    assert RECEIPTS.open(QUEUE, RECEIPTS.seal(NamedQueue(arn), HANDLE)) is None


def test_a_handle_of_another_installation_is_refused() -> None:
    assert ReceiptHandles(bytes(32)).open(QUEUE, RECEIPTS.seal(QUEUE, HANDLE)) is None


def test_no_bit_can_be_changed_and_there_is_one_spelling() -> None:
    tried = systematic(RECEIPTS.seal(QUEUE, HANDLE))
    assert [forged for forged in tried if RECEIPTS.open(QUEUE, forged) is not None] == []
    assert len(tried) + 2 * len(OTHERS) >= 374


# --- forgeries -------------------------------------------------------------------------------------------------------
def accepted(seed: int, number: int) -> list[str]:
    """Returns the handles that the service accepts among `number` forgeries."""
    others = [
        *handles_of(RECEIPTS, ARN + "2", 50),
        *handles_of(RECEIPTS, ARN.replace("us-east-1", "eu-west-1"), 50),
        *handles_of(RECEIPTS, ARN.replace("000000000000", "111122223333"), 50),
        *handles_of(ReceiptHandles(bytes(32)), ARN, 50),
    ]
    tried = forgeries(seed, number, handles_of(RECEIPTS, ARN, 200), others)
    return [forged for forged in tried if RECEIPTS.open(QUEUE, forged) is not None]


def test_of_20_000_forgeries_none_opens() -> None:
    assert accepted(seed=1, number=20_000) == []


@pytest.mark.slow
def test_of_1_000_000_forgeries_none_opens() -> None:
    """The service accepts no forged, truncated, bit-flipped, extended, re-encoded or cross-queue handle."""
    assert accepted(seed=2, number=1_000_000) == []
