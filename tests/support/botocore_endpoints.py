"""Reads botocore's list of endpoints once in a process. Otherwise each session reads the list again, which takes 60
ms of CPU.

Models of services are not shared, because moto changes the models that it has loaded.
"""

from functools import cache
from typing import Any

from botocore.loaders import JSONFileLoader

_read = JSONFileLoader.load_file


@cache
def _once(path: str) -> Any:
    return _read(JSONFileLoader(), path)


def _load_file(loader: JSONFileLoader, path: str) -> Any:
    return _once(path) if path.endswith("/endpoints") else _read(loader, path)


def read_once() -> None:
    """Shares the list for the rest of this process."""
    JSONFileLoader.load_file = _load_file
