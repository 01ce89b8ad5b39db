"""Opens the database for commands that use the database directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from penstock.errors import AwsError
from penstock.postgres.database import Database
from penstock.settings import Settings
from penstock_web.local.chosen_database import choose_database
from penstock_web.local.migrating import check_addresses
from penstock_web.local_error import LocalError


@contextmanager
def service_database(settings: Settings, direct: bool = False, call_seconds: float | None = None) -> Iterator[Database]:
    """Yields the configured database, or the database of the service that runs here. `direct` uses DATABASE_DIRECT_URL.
    `call_seconds` replaces the setting's time limit for a database call. Raises SettingError if no database is
    configured or running. Raises LocalError for a failed call or an invalid address.
    """
    dsn = (settings.direct_url if direct else settings.database_url) or choose_database(settings)
    check_addresses(settings)
    try:
        with closing(Database(dsn, call_seconds=call_seconds or settings.call_seconds)) as database:
            yield database
    except AwsError as error:
        cause = " ".join(str(error.__cause__ or error).split())
        raise LocalError(f"the database cannot be used: {cause}") from error
