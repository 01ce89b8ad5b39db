"""Configures httpx and botocore for the tests.

The services use plain HTTP, so httpx need not read the machine's certificates for each client. A response may take a
minute on an overloaded machine. httpx waits five seconds by default.

All botocore sessions share one list of endpoints. Without the shared list, each session spends 60 ms of CPU on reading
the list. The sessions do not share service models, because moto changes its loaded models.

botocore cleans 75 parts of the User-Agent header for each request, character by character. The parts are always the
same, so each is cleaned once.
"""

from functools import cache, partial
from typing import Any

import httpx
from botocore import useragent
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
    JSONFileLoader.load_file = _load_file
    useragent.sanitize_user_agent_string_component = cache(useragent.sanitize_user_agent_string_component)
