"""Forges receipt handles: invented, cut, changed, extended, re-encoded, or valid for another queue.

The same seed always gives the same handles. No forgery equals a real handle of the tested queue.
"""

import base64
from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random
from urllib.parse import quote

from penstock.access.receipt_handle import ReceiptHandles
from penstock.aws.named_queue import NamedQueue
from penstock.postgres.statements.messages import ReceiptHandle

Forge = Callable[[Random, list[str], list[str]], str]

TEXT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def made_up(rng: Random, _mine: list[str], _foreign: list[str]) -> str:
    return base64.urlsafe_b64encode(rng.choice((rng.randbytes(66), rng.randbytes(45)))).decode()


def made_up_text(rng: Random, _mine: list[str], _foreign: list[str]) -> str:
    return "".join(rng.choices("aZ09-_=+/ é\U0001f389'\"<&%", k=rng.randint(1, 150)))


def with_another_seal(rng: Random, mine: list[str], _foreign: list[str]) -> str:
    """Replaces the seal of a real handle with random characters."""
    return rng.choice(mine)[:63] + "".join(rng.choices(TEXT, k=25))


def spliced(rng: Random, mine: list[str], foreign: list[str]) -> str:
    """Joins the beginning of one handle and the end of another."""
    first, second = rng.sample(mine + foreign, 2)
    where = rng.randint(1, 87)
    return first[:where] + second[where:]


def truncated(rng: Random, mine: list[str], _foreign: list[str]) -> str:
    handle = rng.choice(mine)
    cut = rng.randint(1, 87)
    return rng.choice((handle[:cut], handle[cut:]))


def flipped(rng: Random, mine: list[str], _foreign: list[str]) -> str:
    """Flips one bit of the decoded bytes."""
    data = bytearray(base64.urlsafe_b64decode(rng.choice(mine)))
    data[rng.randrange(66)] ^= 1 << rng.randrange(8)
    return base64.urlsafe_b64encode(data).decode()


def flipped_text(rng: Random, mine: list[str], _foreign: list[str]) -> str:
    """Flips one bit of a character."""
    text = bytearray(rng.choice(mine).encode())
    text[rng.randrange(88)] ^= 1 << rng.randrange(7)
    return text.decode()


def swapped(rng: Random, mine: list[str], _foreign: list[str]) -> str:
    text = list(rng.choice(mine))
    a, b = rng.sample(range(88), 2)
    text[a], text[b] = text[b], text[a]
    return "".join(text)


def extended(rng: Random, mine: list[str], _foreign: list[str]) -> str:
    more = "".join(rng.choices(TEXT + "= \n\t\x00", k=rng.randint(1, 8)))
    return rng.choice((rng.choice(mine) + more, more + rng.choice(mine)))


def doubled(rng: Random, mine: list[str], _foreign: list[str]) -> str:
    return rng.choice(mine) * 2


def re_encoded(rng: Random, mine: list[str], _foreign: list[str]) -> str:
    """Encodes the same bytes in another way. Both base64 alphabets agree if neither - nor _ occurs."""
    handle = rng.choice(mine)
    data = base64.urlsafe_b64decode(handle)
    return rng.choice((
        data.hex(), base64.b32encode(data).decode(), base64.b64encode(data).decode() + "\n", quote(f" {handle}"),
        handle.lower(), handle.upper(), handle.swapcase(), base64.b64encode(handle.encode()).decode(), handle[::-1],
        "".join(chr(ord(letter) + 0xFEE0) for letter in handle), f'"{handle}"', f"{handle}==",
    ))  # fmt: skip


def standard_alphabet(rng: Random, mine: list[str], _foreign: list[str]) -> str:
    """Returns the handle in the standard base64 alphabet, which is the real handle if neither - nor _ occurs."""
    return rng.choice(mine).replace("-", "+").replace("_", "/")


def of_another_queue(rng: Random, _mine: list[str], foreign: list[str]) -> str:
    return rng.choice(foreign)


KINDS: tuple[Forge, ...] = (
    made_up, made_up_text, with_another_seal, spliced, truncated, flipped, flipped_text, swapped, extended, doubled,
    re_encoded, standard_alphabet, of_another_queue,
)  # fmt: skip


def systematic(handle: str) -> list[str]:
    """Returns forgeries of one handle: each bit flipped, each shorter length, and other encodings."""
    data = base64.urlsafe_b64decode(handle)
    bits = [
        data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
        for place in range(len(data))
        for bit in range(8)
    ]
    standard = base64.b64encode(data).decode()
    spellings = (
        data.hex(), data.hex().upper(), base64.b32encode(data).decode(), base64.b16encode(data).decode(),
        base64.b85encode(data).decode(), base64.b64encode(handle.encode()).decode(), quote(f" {handle} "),
        handle.lower(), handle.upper(), handle.swapcase(), handle[::-1], f"{handle}=", f"{handle}==", f"={handle}",
        f"{handle}\n", f"\n{handle}", f"{handle} ", f" {handle}", f"{handle}\t", f"{handle}\r\n",
        f"{handle[:44]}\n{handle[44:]}", f"{handle[:44]} {handle[44:]}", f"{handle[:44]}={handle[44:]}", f'"{handle}"',
        f"'{handle}'", f"{handle},{handle}", handle * 2, f"{handle}A", f"A{handle}", f"{handle}%00",
        f"%{ord(handle[0]):02x}{handle[1:]}", f"\ufeff{handle}",
        handle[0].encode().decode("ascii") + "\u0301" + handle[1:],
        "".join(chr(ord(character) + 0xFEE0) for character in handle),
        f"{handle}#", f"{handle}?x", f"{handle}/", f"../{handle}", f"{handle};", f"{handle}' or '1'='1", "*", "null",
        "0", base64.b64encode(bytes(66)).decode(), base64.b64encode(b"\xff" * 66).decode(), standard[:-4] + "====",
    )  # fmt: skip
    cut = [handle[:length] for length in range(1, len(handle))]
    tried = [*(base64.urlsafe_b64encode(variant).decode() for variant in bits), *cut, *spellings]
    return list(dict.fromkeys(variant for variant in tried if variant != handle))


def forgeries(seed: int, number: int, mine: list[str], foreign: list[str]) -> Iterator[str]:
    """Yields `number` forgeries. `mine` contains real handles of the tested queue. `foreign` contains real handles of
    other queues or installations.
    """
    rng, real, kinds = Random(seed), set(mine), cycle(KINDS)
    while number:
        forged = next(kinds)(rng, mine, foreign)
        # A forgery can equal the real handle if it swaps two equal letters or splices equal parts.
        if forged not in real:
            number -= 1
            yield forged


def handles_of(receipts: ReceiptHandles, arn: str, number: int, seed: int = 0) -> list[str]:
    """Returns real handles of a queue."""
    rng = Random(seed)
    return [
        receipts.seal(
            NamedQueue(arn),
            ReceiptHandle(
                7,
                rng.randrange(4),
                rng.randrange(1, 10_000),
                rng.randrange(1, 10_000),
                rng.randint(1, 5),
                rng.randrange(1, 2**31),
                rng.randbytes(16),
            ),
        )
        for _ in range(number)
    ]
