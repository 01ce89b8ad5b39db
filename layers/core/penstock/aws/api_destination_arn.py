"""Amazon Resource Names of connections and API destinations.

    arn:aws:events:us-east-1:123456789012:connection/crm/0a1b2c3d-…
    arn:aws:events:us-east-1:123456789012:api-destination/crm/4e5f6a7b-…

An ARN ends in a UUID, so a new resource with the name of a deleted one has another ARN.
"""

import re
from typing import Final
from uuid import uuid4

CONNECTION, API_DESTINATION = "connection", "api-destination"
NAME: Final = r"[.\-_A-Za-z0-9]{1,64}"
_ARN: Final = re.compile(rf"arn:aws:events:[a-z0-9-]+:[0-9]{{12}}:{API_DESTINATION}/{NAME}/[0-9a-f-]{{36}}")


def build_destination_arn(region: str, account_id: str, kind: str, name: str) -> str:
    """Returns a new ARN. `kind` is CONNECTION or API_DESTINATION."""
    return f"arn:aws:events:{region}:{account_id}:{kind}/{name}/{uuid4()}"


def is_api_destination_arn(text: str) -> bool:
    return _ARN.fullmatch(text) is not None


def find_destination_name(arn: str) -> str:
    """Returns the name in the ARN of an API destination."""
    return arn.partition(f":{API_DESTINATION}/")[2].partition("/")[0]
