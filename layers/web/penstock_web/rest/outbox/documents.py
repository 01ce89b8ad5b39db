"""Documents of /v1/outbox that the REST API alone has."""

import msgspec


class OptedOut(msgspec.Struct):
    """A phone number that is opted out."""

    phone_number: str
