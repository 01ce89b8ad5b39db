"""Documents of /v1/queues that the REST API alone has."""

import msgspec

from penstock.management.queues import Attributes


class QueueChange(msgspec.Struct, forbid_unknown_fields=True):
    """Attributes to change; the others stay."""

    attributes: Attributes


class Purged(msgspec.Struct):
    """How many messages a purge deleted."""

    deleted: int
