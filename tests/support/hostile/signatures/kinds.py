"""Generates requests of SQS with invalid signatures, by kinds. None may be accepted.

    Signer(...).json()      a good request, signed in the Authorization header, in AWS JSON
    Signer(...).form()      the same in the Query protocol
    Signer(...).address()   the same, signed in the query string
    KINDS["dates"](signer)  forgeries of these, each with a name

The module does not use Penstock's verification. The modules of the kinds name AWS's pages.
"""

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
# Only an HTTP server gets these requests unchanged.
WIRE_KINDS: dict[str, Callable[[Signer], Forgeries]] = {
    "folded headers": of_headers.folded_headers,
    "methods": of_requests.methods,
}
