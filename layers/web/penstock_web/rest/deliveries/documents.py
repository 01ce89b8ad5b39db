"""Documents of /v1/deliveries that the REST API alone has."""

from typing import Annotated

import msgspec

from penstock.management.deliveries.attempts import URL


class Retried(msgspec.Struct):
    """The delivery that is due now."""

    id: int


class RetriedMany(msgspec.Struct):
    """How many are tried again. `next`: give it as `after` for those that follow; null: there are no more."""

    retried: int
    next: int | None


class NamedEndpoint(msgspec.Struct, forbid_unknown_fields=True):
    """A URL, as it was subscribed."""

    endpoint: Annotated[str, msgspec.Meta(pattern=URL)]
