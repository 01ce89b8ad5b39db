"""The files of botocore, read once in a process: each of its sessions reads its models anew, 60 ms or more."""

from __future__ import annotations

from functools import cache
from typing import Any

from botocore.loaders import JSONFileLoader

_read = JSONFileLoader.load_file


@cache
def _once(path: str) -> Any:
    return _read(JSONFileLoader(), path)


def _load_file(_: JSONFileLoader, path: str) -> Any:
    return _once(path)


def read_once() -> None:
    """For the rest of this process. What a session gets it shares with others: a test changes a copy."""
    JSONFileLoader.load_file = _load_file
