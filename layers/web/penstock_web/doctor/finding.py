"""Defines the finding of a check."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """Represents a problem, or advice, which leaves the exit code 0."""

    subject: str
    """Names the check, or has the ARN of the object."""
    problem: str
    why: str = ""
    """Says why it matters."""
    remedy: str = ""
    """Says what to do, with the command."""
    is_advice: bool = False
