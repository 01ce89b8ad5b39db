"""QueueUrls: `https://HOST/ACCOUNT/NAME`, and `https://HOST/REGION/ACCOUNT/NAME` outside the default region.

On AWS the host contains the region. In Penstock the path contains the region, because an installation chooses its
hosts. A URL always identifies a queue in the URL's region, even if the signature contains another region.

Penstock accepts URLs with any host, any path before the region, account and name, and trailing slashes (as in the
examples of AWS's API reference). In a URL of AWS or an emulator, the host contains the region: `https://sqs.REGION.…`,
the hosts for FIPS and VPC endpoints, and the legacy `https://REGION.queue.amazonaws.com` ("Amazon SQS endpoints and
quotas", AWS General Reference, https://docs.aws.amazon.com/general/latest/gr/sqs-service.html). A bare name is a queue
of the caller's account and region.
"""

import re
from functools import lru_cache

from .arn import is_account_id, resolve_queue
from .named_queue import NamedQueue

MAX_URL_LENGTH = 2_048
"""The most characters of a QueueUrl. The limit is Penstock's choice, and keeps caches small.
"""

_HOST = re.compile(
    r"https?://(?:(?:[a-z0-9-]+\.)?sqs(?:-fips)?\.([a-z0-9-]+)\.|([a-z0-9-]+)\.queue\.amazonaws\.)"
).match
# Regions of AWS: `us-east-1`, `us-gov-west-1`.
_AWS_REGION = re.compile(r"[a-z]{2,4}(?:-[a-z]+){1,2}-[0-9]{1,2}").fullmatch
_PATH = re.compile(r"/(?:[a-z0-9-]{1,32}/)?[0-9]{12}/[^/]+/*").fullmatch


def is_queue_path(path: str) -> bool:
    """Returns whether a request's path has the form of a queue's path."""
    return _PATH(path) is not None


def build_path(region: str, account_id: str, name: str, default_region: str) -> str:
    return f"/{account_id}/{name}" if region == default_region else f"/{region}/{account_id}/{name}"


@lru_cache(maxsize=4096)
def resolve(url: str, account_id: str, region: str, default_region: str, served_regions: str = "") -> NamedQueue | None:
    """Returns the queue at a URL for a caller of this account and region, or None for an impossible URL.

    `served_regions` is QUEUE_REGIONS, separated by commas. If `served_regions` is empty, the installation serves any
    region. The function caches results, because every request on a queue needs the queue.
    """
    head, slash, name = url.rstrip("/").rpartition("/")
    if head == "":  # a name, or a name as a path
        return resolve_queue(region, account_id, name)
    before, _, account = head.rpartition("/")
    if not slash or not is_account_id(account):
        return None
    served = [served_region.strip() for served_region in served_regions.split(",")] if served_regions else []
    host = _HOST(url)
    is_first = "://" in url and before.count("/") < 3  # only the host precedes the account
    region_of_url = before.rpartition("/")[2] if not is_first else host[1] or host[2] if host else ""
    if not (_AWS_REGION(region_of_url) or region_of_url in (region, *served)):
        region_of_url = default_region  # another part of a path
    if served and region_of_url not in served:
        return None
    return resolve_queue(region_of_url, account, name)
