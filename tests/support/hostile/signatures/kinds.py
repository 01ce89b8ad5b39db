"""Generates requests of SQS with invalid signatures, by kinds. None may be accepted.

    Signer(...).json()      a good request, signed in the Authorization header, in AWS JSON
    Signer(...).form()      the same in the Query protocol
    Signer(...).address()   the same, signed in the query string
    KINDS["dates"](signer)  forgeries of these, each with a name

The module does not use Penstock's verification. The modules of the kinds name AWS's pages.
"""

from collections.abc import Callable

from tests.support.hostile.signatures import altered, requests
from tests.support.hostile.signatures.signing import Forgeries, Signer

KINDS: dict[str, Callable[[Signer], Forgeries]] = {
    "bits": altered.bits, "signatures": altered.signatures, "dates": altered.dates, "scopes": altered.scopes,
    "algorithms": altered.algorithms, "keys": altered.keys, "signed headers": requests.signed_headers,
    "unsigned headers": requests.unsigned_headers, "duplicate headers": requests.duplicate_headers,
    "session tokens": requests.session_tokens, "other schemes": requests.other_schemes, "hosts": requests.hosts,
    "payload hashes": requests.payload_hashes, "queries": requests.queries, "paths": requests.paths,
}  # fmt: skip
# Only an HTTP server gets these requests unchanged.
WIRE_KINDS: dict[str, Callable[[Signer], Forgeries]] = {
    "folded headers": requests.folded_headers,
    "methods": requests.methods,
}
