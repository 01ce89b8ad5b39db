"""Notes who did what, as the REST API does: see `penstock.audit`."""

from penstock.audit import Act, audited

__all__ = ["Act", "audited"]
