"""Requests of SQS that their signer did not sign so, by kinds; none may be accepted.

    Signer(...).json()      a good request, signed in the Authorization header, in AWS JSON
    Signer(...).form()      the same in the Query protocol
    Signer(...).address()   the same, signed in the query string
    KINDS["dates"](signer)  forgeries of these, each with a name

Nothing here knows how Penstock verifies; the modules of the kinds name AWS's pages.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.support.hostile.signatures import altered, of_headers, of_requests
from tests.support.hostile.signatures.signer import Forgeries, Signer

KINDS: dict[str, Callable[[Signer], Forgeries]] = {
    "bits": altered.bits, "signatures": altered.signatures, "dates": altered.dates, "scopes": altered.scopes,
    "algorithms": altered.algorithms, "keys": altered.keys, "signed headers": of_headers.signed_headers,
    "unsigned headers": of_headers.unsigned_headers, "duplicate headers": of_headers.duplicate_headers,
    "session tokens": of_headers.session_tokens, "other schemes": of_headers.other_schemes, "hosts": of_headers.hosts,
    "payload hashes": of_requests.payload_hashes, "queries": of_requests.queries, "paths": of_requests.paths,
}  # fmt: skip
# What only a server of HTTP gets as it was sent.
WIRE_KINDS: dict[str, Callable[[Signer], Forgeries]] = {
    "folded headers": of_headers.folded_headers,
    "methods": of_requests.methods,
}
