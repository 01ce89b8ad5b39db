"""Defines the option --database, which replaces the environment's database."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from penstock.settings import ADDRESSES, SettingError

DatabaseAddress = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="address of the database, without a pooler, instead of DATABASE_URL and DATABASE_DIRECT_URL",
    ),
]


def build_variables_with(address: str | None) -> dict[str, str]:
    """Returns the environment. A given `address` replaces the environment's database addresses. Raises SettingError for
    an empty address.
    """
    variables = dict(os.environ)
    if address is None:
        return variables
    if not address:
        raise SettingError("--database: the address is empty")
    for name in ADDRESSES:
        variables.pop(name, None)
        variables.pop(f"{name}_FILE", None)
    return {**variables, "DATABASE_URL": address}
