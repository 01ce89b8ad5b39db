"""Defines documents of /v1/queues that only the REST API has."""

import msgspec

from penstock.management.queues import Attributes


class QueueChange(msgspec.Struct, forbid_unknown_fields=True):
    """Has the attributes to change. The others stay unchanged."""

    attributes: Attributes


class Purged(msgspec.Struct):
    """Says how many messages a purge deleted."""

    deleted: int
