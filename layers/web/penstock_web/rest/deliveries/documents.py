"""Defines documents of /v1/deliveries that only the REST API has."""

from typing import Annotated

import msgspec

from penstock.management.deliveries.attempts import URL


class Retried(msgspec.Struct):
    """Names the delivery that is due now."""

    id: int


class RetriedMany(msgspec.Struct):
    """Counts the deliveries that are tried again. Give `next` as `after` for the following ones. Null means that there
    are no more."""

    retried: int
    next: int | None


class NamedEndpoint(msgspec.Struct, forbid_unknown_fields=True):
    """Names a URL in its subscribed form."""

    endpoint: Annotated[str, msgspec.Meta(pattern=URL)]
