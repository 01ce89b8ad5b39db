"""Provides clients for tests: httpx for plain HTTP, and botocore's list of endpoints.

httpx would read the machine's certificates for each client, and botocore its list of endpoints for each session, which
takes 60 ms of CPU. A response may take a minute, because an overloaded machine must not fail a test. Models of services
are not shared, because moto changes the models that it has loaded.
"""

from functools import cache, partial
from typing import Any

import httpx
from botocore.loaders import JSONFileLoader

MAX_SECONDS = 60

get = partial(httpx.get, verify=False, timeout=MAX_SECONDS)
post = partial(httpx.post, verify=False, timeout=MAX_SECONDS)
request = partial(httpx.request, verify=False, timeout=MAX_SECONDS)
Client = partial(httpx.Client, verify=False, timeout=MAX_SECONDS)
AsyncClient = partial(httpx.AsyncClient, verify=False, timeout=MAX_SECONDS)


_read = JSONFileLoader.load_file


@cache
def _once(path: str) -> Any:
    return _read(JSONFileLoader(), path)


def _load_file(loader: JSONFileLoader, path: str) -> Any:
    return _once(path) if path.endswith("/endpoints") else _read(loader, path)


def read_once() -> None:
    """Shares the list for the rest of this process."""
    JSONFileLoader.load_file = _load_file
