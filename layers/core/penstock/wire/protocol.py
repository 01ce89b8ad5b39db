"""The ways in which a request can be spoken, and is then answered."""

from enum import Enum


class Protocol(Enum):
    """JSON: AWS JSON 1.0, by `X-Amz-Target`. QUERY: form parameters with `Action`, answered in XML."""

    JSON = "json"
    QUERY = "query"
