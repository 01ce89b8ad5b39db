"""Generates the template unit of systemd from the unit of a single process."""

from pathlib import Path
from typing import Final

from .blocks import MarkerError

UNIT, TEMPLATE_UNIT = "infra/systemd/penstock.service", "infra/systemd/penstock@.service"
_HEADER: Final = """\
# Runs an instance of Penstock on each port, such as penstock@9324 and penstock@9325. `make generate` writes this file
# from penstock.service. It needs systemd 248 or newer. The steps are at /docs"""
_CHANGES: Final = (
    ("# Runs Penstock on a single machine. It needs systemd 248 or newer. The steps are at\n# /docs", _HEADER),
    ("Description=Penstock, SQS and SNS on PostgreSQL\n", "Description=Penstock on port %i\n"),
    (
        "# The default address is 127.0.0.1:9324 (QUEUE_ADDRESS).\n",
        "# The instance's name is the port. The default host is 127.0.0.1 (QUEUE_ADDRESS).\n",
    ),
    ("penstock up --no-migrate\n", "penstock up --no-migrate --port %i\n"),
)


def render_template_unit(root: Path) -> str:
    """Returns the text of penstock@.service. Raises MarkerError if penstock.service lacks a line that differs."""
    text = (root / UNIT).read_text()
    for old, new in _CHANGES:
        before, found, after = text.partition(old)
        if not found:
            raise MarkerError(f"{UNIT} does not contain {old.strip()!r}.")
        text = before + new + after
    return text
