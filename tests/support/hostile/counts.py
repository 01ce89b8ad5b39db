"""Counts the different attacks of each kind that the tests try: `python -m tests.support.hostile.counts`.

A case counts once, even if tests send it to several deployments or in several protocols. A test compares
docs/operate/security_tests.md with the counts.
"""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from unittest.mock import patch

from penstock.access.receipt_handle import ReceiptHandles
from tests.support.delivery.forbidden_urls import forbidden
from tests.support.forged_receipt_handles import forgeries, handles_of, systematic
from tests.support.hostile import smuggled_requests
from tests.support.hostile.attacks import attacks
from tests.support.hostile.invalid_members import Target
from tests.support.hostile.signatures import signing
from tests.support.hostile.signatures.altered import unknown_keys
from tests.support.hostile.signatures.requests import KINDS, WIRE_KINDS
from tests.support.hostile.signatures.signing import Signer

ACCOUNT = "000000000000"
URL, ARN = f"http://localhost/{ACCOUNT}/q", f"arn:aws:sqs:us-east-1:{ACCOUNT}:q"
TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:t"
KEYS = ("PSTKAAAAAAAAAAAAAAAA", "s" * 40), ("PSTKBBBBBBBBBBBBBBBB", "t" * 40)
BEARER = f"PSTB{'A' * 16}.{'s' * 40}"
# The seeds and numbers in tests/system/hostile/test_hostile.py, without and with the slow test.
FUZZED, FUZZED_SLOWLY = ((1, 1_500), (2, 800)), (3, 50_000)


def distinct(cases: Iterable[bytes]) -> int:
    """Counts different values by their hashes, because some values contain megabytes."""
    return len({sha256(case).digest() for case in cases})


@cache
def counts() -> dict[str, int]:
    """Returns the counts by kind. The call takes seconds."""
    signer = Signer("http://localhost", URL, f"/{ACCOUNT}/other", *KEYS)
    kinds = (*KINDS.values(), *WIRE_KINDS.values(), unknown_keys)
    with patch(
        "tests.support.hostile.signatures.signing.datetime"
    ) as clock:  # A request that differs only in its time counts once.
        clock.now.return_value = datetime(2026, 1, 1, tzinfo=UTC)
        signed = [list(kind(signer)) for kind in kinds]
    receipts = ReceiptHandles(bytes(32))
    (handle,) = handles_of(receipts, ARN, 1)
    faulty = (smuggled_requests.refused(), smuggled_requests.last(), smuggled_requests.whole())
    return {
        "signatures": len({request for kind in signed for _, request in kind}),
        "bearer keys": len({(forgery.headers, forgery.query) for forgery in signing.forgeries(BEARER, {})}),
        "receipt handles": len(set(systematic(handle))),
        "addresses of webhooks": len(set(forbidden())),
        "smuggled requests": distinct(case.data(b"") for kind in faulty for case in kind),
        "hostile requests": fuzzed(*FUZZED),
    }


def fuzzed(*runs: tuple[int, int]) -> int:
    """Returns the number of different requests in the given runs. Each run is a seed and a number."""
    target = Target(
        URL, f"{URL}.fifo", ARN, "handle", TOPIC, f"{TOPIC}.fifo", f"{TOPIC}:00000000-0000-4000-8000-000000000000"
    )
    return distinct(attack.data for seed, number in runs for attack in attacks(seed, number, target))


def forged_handles(number: int) -> int:
    """Returns the number of different handles among `number` forgeries with the slow test's seed."""
    receipts = ReceiptHandles(bytes(range(32)))
    mine, others = handles_of(receipts, ARN, 200), handles_of(receipts, ARN + "2", 200)
    return distinct(forged.encode("utf-8", "surrogatepass") for forged in forgeries(2, number, mine, others))


def main() -> None:
    lines = [f"{number:>9,}  {kind}" for kind, number in counts().items()]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.write(f"{fuzzed(*FUZZED, FUZZED_SLOWLY):>9,}  hostile requests, with the slow test\n")
    sys.stdout.write(f"{forged_handles(1_000_000):>9,}  receipt handles of the slow test\n")


if __name__ == "__main__":
    main()
