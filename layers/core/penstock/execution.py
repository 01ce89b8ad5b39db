"""What a function of Lambda keeps between its invocations: settings, one connection, the key of receipt handles."""

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import psycopg

from .context import Environment, RequestIds
from .database import Database
from .errors import ServiceUnavailable
from .receipt import Receipts
from .settings import SettingError, Settings
from .telemetry import lambda_logger

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


class ExecutionEnvironment:
    """What a function keeps between invocations. Made at the first one, since an import must not fail or wait."""

    def __init__(self, variables: Mapping[str, str] = os.environ) -> None:
        self.variables = variables
        self.request_ids = RequestIds()

    @cached_property
    def settings(self) -> Settings:
        """From the environment variables. Raises SettingError, also when there is no DATABASE_URL."""
        settings = Settings.read(self.variables)
        if not settings.database_url:
            raise SettingError("DATABASE_URL is not set")
        return settings

    @cached_property
    def database(self) -> Database:
        """The one connection, which repairs itself."""
        return Database(self.settings.database_url)

    @cached_property
    def environment(self) -> Environment:
        """Settings and the key of receipt handles. Raises ServiceUnavailable or psycopg.Error; then not kept."""
        try:
            receipts = Receipts.load(self.database.connection())
        except psycopg.OperationalError as error:
            raise ServiceUnavailable from error
        return Environment(self.settings, receipts, self.request_ids)

    @cached_property
    def logger(self) -> "Logger":
        """Imported when there is something to say, which keeps powertools out of a cold start."""
        try:
            return lambda_logger(self.settings.log_level)
        except SettingError:  # which is then what there is to log
            return lambda_logger("info")

    def close(self) -> None:
        """Gives the connection back (tests; Lambda ends the process)."""
        if "database" in self.__dict__:
            self.database.close()
