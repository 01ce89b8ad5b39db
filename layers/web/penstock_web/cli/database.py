"""Opens the database of DATABASE_URL for the commands that read or write it themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from penstock.errors import AwsError
from penstock.postgres.database import Database
from penstock.settings import SettingError, Settings
from penstock_web.local.migrating import without_password
from penstock_web.system_account import LocalError


@contextmanager
def service_database(settings: Settings) -> Iterator[Database]:
    """The database. Raises SettingError without an address, LocalError when a call fails or the address is invalid."""
    if not settings.database_url:
        raise SettingError("set DATABASE_URL")
    without_password(settings.database_url)
    try:
        with closing(Database(settings.database_url)) as database:
            yield database
    except AwsError as error:
        cause = " ".join(str(error.__cause__ or error).split())
        raise LocalError(f"the database cannot be used: {cause}") from error
