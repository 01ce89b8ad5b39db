"""The state that a Lambda function keeps between invocations: settings, one connection, the key of receipt handles."""

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from penstock.drivers import run
from penstock.environment import Environment, RequestIds
from penstock.postgres.database import Database, import_driver
from penstock.receipt_handle import ReceiptHandles
from penstock.settings import SettingError, Settings
from penstock.telemetry import lambda_logger, traced

from .metrics import Metrics

if TYPE_CHECKING:
    import psycopg
    from aws_lambda_powertools import Logger

    from penstock.effects import Operation, Row
    from penstock.postgres.psycopg_connection import PsycopgConnection

T = TypeVar("T")


class ExecutionEnvironment:
    """The state that a function keeps between invocations.

    Its parts are made at their first use, since an import must not fail or wait.
    """

    def __init__(self, variables: Mapping[str, str] = os.environ) -> None:
        self.variables = variables
        self.request_ids = RequestIds()
        import_driver(variables.get("QUEUE_DATABASE_DRIVER", ""))

    @cached_property
    def settings(self) -> Settings:
        """From the environment variables. Raises SettingError, also when there is no DATABASE_URL."""
        settings = Settings.read(self.variables)
        if not settings.database_url:
            raise SettingError("DATABASE_URL is not set")
        return settings

    @cached_property
    def database(self) -> Database:
        """The one connection, which reconnects after errors."""
        return Database(
            self.settings.database_url, self.settings.queue_database_driver, self.settings.call_seconds
        )

    @cached_property
    def environment(self) -> Environment:
        """Settings and the key of receipt handles. Raises ServiceUnavailable, InternalFailure; the next use retries.

        Logs what is wrong with sessions of the database's role.
        """
        environment = Environment(self.settings, ReceiptHandles.load(self.database), self.request_ids)
        for warning in self.database.connection().session.warnings:
            self.logger.warning(warning)
        return environment

    @cached_property
    def logger(self) -> "Logger":
        """The logger. It imports powertools, which cold starts do without."""
        try:
            return lambda_logger(self.settings.log_level)
        except SettingError:  # the caller logs this error
            return lambda_logger("info")

    @cached_property
    def metrics(self) -> Metrics:
        """Writes counts and gauges."""
        return Metrics(self.settings.queue_account_id, self.settings.queue_region)

    def run(self, operation: "Operation[T]") -> T:
        """The operation's result. With QUEUE_USAGE_METRICS, writes metrics of the queues that the operation used."""
        if not self.settings.queue_usage_metrics:
            return run(operation, self.database)
        from .usage import Usage  # noqa: PLC0415 - most functions do without

        usage = Usage()
        try:
            return run(operation, self.database, usage.count)
        finally:
            self.metrics.count_usage(usage.queues)

    def psycopg_connection(self) -> "psycopg.Connection[Row]":
        """A psycopg connection for workers that need transactions, also with pg8000. Raises ServiceUnavailable."""
        return cast("PsycopgConnection", self._psycopg.connection()).connection

    def traced(self, work: Callable[[], T], lambda_context: object) -> T:
        """The result of `work`, which runs in a segment of X-Ray if the function has tracing."""
        return traced(work, lambda_context) if self._is_traced else work()

    def close(self) -> None:
        """Closes the connections. Only tests call it: Lambda ends the process."""
        for database in ("database", "_psycopg"):
            if database in self.__dict__:
                self.__dict__[database].close()

    @cached_property
    def _is_traced(self) -> bool:
        try:
            return self.settings.queue_tracing
        except SettingError:  # the invocation itself raises it
            return False

    @cached_property
    def _psycopg(self) -> Database:
        if self.settings.queue_database_driver == "psycopg":
            return self.database
        return Database(self.settings.database_url, call_seconds=self.settings.call_seconds)
