"""Tests the encryption of secrets at rest."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64encode

import pytest

from penstock.access.secret_encryption import DecryptionError, SecretCipher
from penstock.settings import SettingError

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
