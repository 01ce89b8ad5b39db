"""Stores why receivers failed, and reads the header X-Penstock-Error.

The header is an addition to AWS's API, so that hooks of SDKs can send the error with ChangeMessageVisibility. If the
request's signature was verified, the header counts only if the signature covers the header. Otherwise a proxy between
the client and the service could write texts that people read in the console under the client's name.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from penstock import errors
from penstock.access.sigv4 import covers_header
from penstock.aws.named_queue import NamedQueue
from penstock.context import Context
from penstock.effects import BatchCall, Operation
from penstock.postgres.statements.messages import FAIL_MESSAGES, ChangedRow, FailureEntry

HEADER: Final = "x-penstock-error"
MAX_ERROR_LENGTH: Final = 1_024  # characters
ATTRIBUTE: Final = "PenstockError"
"""The message attribute of a dead letter with the last error."""

_HEADER_BYTES = HEADER.encode()


def read_error(context: Context) -> str | None:
    """Returns the error in the request's header, or None if the header is missing, empty or not signed."""
    encoded = context.http.headers.get(_HEADER_BYTES)
    if not encoded or (context.user is not None and not covers_header(context.http, HEADER)):
        return None
    return clean_error(unquote_to_bytes(encoded).decode("utf-8", "replace"))


def clean_error(error: str) -> str | None:
    """Returns the first 1,024 characters, or None for an empty text. Characters that PostgreSQL cannot store become
    U+FFFD, and SQL replaces characters that a message attribute cannot have."""
    cut = error.strip()[:MAX_ERROR_LENGTH].replace("\0", "\ufffd")
    return cut.encode("utf-8", "surrogatepass").decode("utf-8", "replace") or None


def store(queue: NamedQueue, entries: Sequence[FailureEntry]) -> Operation[list[ChangedRow]]:
    """Stores failures, and changes the visibility of messages whose entries have seconds. Returns the rows in the order
    of the entries."""
    return sorted((yield from BatchCall(FAIL_MESSAGES, entries, merge_key=queue.merge_key)))


def check_error(error: str) -> str:
    """Returns the error as stored. Raises InvalidParameterValue for an empty error."""
    cleaned = clean_error(error)
    if cleaned is None:
        raise errors.InvalidParameterValue("error: must not be empty")
    return cleaned
