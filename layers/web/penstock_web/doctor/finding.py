"""What a check finds."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """A problem, or advice, which leaves the exit code 0."""

    subject: str
    """What it is about: the name of its check, or an ARN."""
    problem: str
    why: str = ""
    """Why it matters."""
    remedy: str = ""
    """What to do, with the command."""
    is_advice: bool = False
