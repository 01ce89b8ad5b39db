"""Measures signing of SNS messages: CPU µs of one process for an envelope with 1 KB of text, by signature version.

python -m benchmarks.costs.notifications
"""

import argparse
from collections.abc import Sequence

from benchmarks.costs.signatures import cost_us
from penstock.sns.notification import SigningContext, notification
from penstock.sns.signatures import Signer, new_key

TOPIC = "arn:aws:sns:us-east-1:000000000000:orders"
MESSAGE_ID = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"
AT = "2026-01-02T03:04:05.678Z"


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a line for each version: the cost of an envelope, and the signature's part of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.notifications", description=__doc__)
    parser.add_argument("--times", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--body-bytes", type=int, default=1024)
    options = parser.parse_args(argv)
    key = new_key()
    signer, text = Signer(key.key_id, key.private_key), "a" * options.body_bytes
    for version in ("1", "2"):
        head = SigningContext(signer, version, "http://q", "http://q/c.pem")

        def signed(version: str = version) -> None:
            signer.sign(text, version)

        def enveloped(head: SigningContext = head) -> None:
            notification(head, TOPIC, MESSAGE_ID, text, "subject", AT, {})

        whole, alone = (cost_us(work, options.times, options.repeats) for work in (enveloped, signed))
        print(f"version {version}: {whole:.0f} µs an envelope, {alone:.0f} µs of it the signature")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
