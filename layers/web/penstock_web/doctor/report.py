"""Formats findings as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .checks import CheckOutcome


def as_lines(outcome: CheckOutcome) -> Iterator[str]:
    """Yields lines: each finding with its remedy and page, the names of finished and skipped checks, and the number of
    problems.
    """
    for finding in outcome.findings:
        prefix = "advice: " if finding.is_advice else ""
        yield f"{prefix}{finding.subject}: {finding.problem}"
        if finding.why:
            yield f"    why: {finding.why}"
        if finding.remedy:
            yield f"    do:  {finding.remedy}"
        yield f"    see: {finding.page}"
    if outcome.checked:
        yield f"checked: {', '.join(outcome.checked)}"
    for reason in dict.fromkeys(outcome.skipped.values()):
        names = [name for name, why in outcome.skipped.items() if why == reason]
        yield f"not checked, because {reason}: {', '.join(names)}"
    number = outcome.problems
    yield f"{number} problem{'s' if number > 1 else ''}" if number else "no problem found"


def as_json(outcome: CheckOutcome) -> str:
    """Returns one JSON object."""
    return json.dumps(
        {
            "problems": outcome.problems,
            "findings": [finding._asdict() for finding in outcome.findings],
            "checked": outcome.checked,
            "not_checked": outcome.skipped,
        },
        indent=2,
    )
