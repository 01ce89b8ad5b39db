"""Creates message ids, which are random UUIDs (version 4, RFC 9562), without a system call per id.

Message ids must be unique but need not be secret, so the process's random generator is sufficient. Python seeds the
generator from the operating system, also after a fork.
"""

from random import getrandbits

_RANDOM = ~((0xF << 76) | (0x3 << 62)) & (1 << 128) - 1
_VERSION_4 = (0x4 << 76) | (0x2 << 62)


def build_message_id() -> bytes:
    """Returns a new id, which has 16 bytes."""
    return (getrandbits(128) & _RANDOM | _VERSION_4).to_bytes(16, "big")


def build_message_ids(count: int) -> list[bytes]:
    """Returns new ids. For a hundred ids, this takes a third of the time of single ids."""
    random, version = (int.from_bytes(bits.to_bytes(16, "big") * count, "big") for bits in (_RANDOM, _VERSION_4))
    ids = (getrandbits(128 * count) & random | version).to_bytes(16 * count, "big")
    return [ids[start : start + 16] for start in range(0, 16 * count, 16)]


def as_text(message_id: bytes) -> str:
    """Returns the usual text of 36 characters."""
    digits = message_id.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
