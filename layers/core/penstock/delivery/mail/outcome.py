"""Decides the outcome of a mail.

After a 4xx reply, the worker retries the mail as SNS retries SMTP: 50 times over 6 hours. After a 5xx reply, the worker
gives up the mail. A refused recipient counts as a bounce.

If the connection, TLS or the login fails, or the server refuses the sender, the worker retries the mail as after a 4xx
reply, and pauses the endpoint. If the server does not reply to DATA, the worker retries the mail after ten minutes, up
to the fifth attempt, because the server may already have the mail.

Sources: "Amazon SNS message delivery retries" (SNS Developer Guide), customer managed endpoints; RFC 5321, 4.2.1 and
4.5.3.2.6 (a lost reply to DATA causes duplicates); RFC 3463 (the subject of an enhanced status code).
"""

import re
from typing import Final

from penstock.delivery.delivery import Delivery
from penstock.delivery.outcome import (
    BOUNCED,
    FAILS,
    MAX_ERROR_CHARACTERS,
    RESPONDS,
    SHOWS_NOTHING,
    Outcome,
    compute_next_delay_ms,
)

from .message import join_lines

UNKNOWN_DELAY_MS: Final = 600_000
MAX_COPIES: Final = 5

_enhanced = re.compile(r"5\.([0-9]{1,3})\.[0-9]{1,3}").match


def build_accepted() -> Outcome:
    return Outcome(250, None, None, RESPONDS)


def build_refusal(delivery: Delivery, code: int, text: str) -> Outcome:
    """Returns the outcome if the server refused the recipient or the mail."""
    error = shorten(f"{code} {text}")
    if code < 500:
        return Outcome(code, error, compute_next_delay_ms(delivery), FAILS if code == 421 else RESPONDS)
    return Outcome(code, error, None, BOUNCED if is_bounce(code, text) else RESPONDS)


def is_bounce(code: int, text: str) -> bool:
    """Returns whether a refusal concerns the recipient's address or mailbox. A missing permission to send is not a
    bounce."""
    enhanced = _enhanced(text)
    return enhanced[1] in ("1", "2") if enhanced else code in (550, 551, 553)


def build_unreachable(delivery: Delivery, error: str) -> Outcome:
    """Returns the outcome if the server did not accept any mail."""
    return Outcome(None, error, compute_next_delay_ms(delivery), FAILS)


def build_unknown(delivery: Delivery) -> Outcome:
    """Returns the outcome if the carrier sent the mail and the server did not respond."""
    delay = UNKNOWN_DELAY_MS if delivery.attempts + 1 < MAX_COPIES else None
    return Outcome(None, "the mail server did not respond, but may have accepted the mail", delay, FAILS)


def build_impossible(error: Exception) -> Outcome:
    """Returns the outcome if the delivery cannot become a mail."""
    return Outcome(None, shorten(str(error)), None, SHOWS_NOTHING)


def shorten(text: str) -> str:
    """Returns an error's text in one line."""
    return join_lines(text)[:MAX_ERROR_CHARACTERS]
