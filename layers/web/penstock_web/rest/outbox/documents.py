"""Defines documents of /v1/outbox that only the REST API has."""

import msgspec


class OptedOutNumber(msgspec.Struct):
    """Names a phone number that is opted out."""

    phone_number: str
