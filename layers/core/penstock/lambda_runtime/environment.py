"""The state that a Lambda function keeps between invocations: the settings, one connection and the key of receipt
handles."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from penstock.drivers import ignore, run
from penstock.environment import Environment, RequestIds, load_receipt_handles
from penstock.errors import ServiceUnavailable
from penstock.limits.message_lengths import MessageLengths
from penstock.observing.telemetry import build_lambda_logger, trace_call
from penstock.postgres.database import Database, import_driver
from penstock.settings import SettingError, Settings

from .metrics import Metrics, Usage
from .waits import bound_waits

if TYPE_CHECKING:
    import psycopg
    from aws_lambda_powertools import Logger

    from penstock.effects import Operation
    from penstock.observing.reports import Report
    from penstock.postgres.psycopg_connection import PsycopgConnection
    from penstock.postgres.statement import Row

    from .secret import Secret

T = TypeVar("T")


class ExecutionEnvironment:
    """The state that a function keeps between invocations.

    The object creates each part at the part's first use, because an import must not fail. `start` reads the secret, but
    ignores errors. `bounds_waits` means that `waits` limits how long requests wait for messages. `bounds_waits` is true
    in functions that serve many actions.
    """

    def __init__(self, variables: Mapping[str, str] = os.environ, *, bounds_waits: bool = False) -> None:
        self.variables = variables
        self._bounds_waits = bounds_waits
        self._lengths = MessageLengths()
        self.request_ids = RequestIds()
        import_driver(variables.get("QUEUE_DATABASE_DRIVER", ""))

    @classmethod
    def start(cls, *, bounds_waits: bool = False) -> "ExecutionEnvironment":
        """Returns the environment of a new function. If the function has a secret, reads the secret first.

        Therefore the first invocation does not wait for the secret ("Init phase" in "Understanding the Lambda execution
        environment lifecycle", AWS Lambda Developer Guide). If the read fails, the first invocation reads the secret
        again and reports the error.
        """
        environment = cls(bounds_waits=bounds_waits)
        if environment.variables.get("QUEUE_SECRET"):
            with suppress(ServiceUnavailable, SettingError):
                environment.settings  # noqa: B018 - reads the secret
        return environment

    @cached_property
    def settings(self) -> Settings:
        """Reads the settings from the environment variables and from the secret in QUEUE_SECRET. The secret takes
        precedence over the environment variables.

        Raises SettingError for an invalid setting or a missing DATABASE_URL, and ServiceUnavailable if the secret
        cannot be read.
        """
        if self._secret is None:
            settings = self._given_settings
        else:
            settings = self._read_secret(self._secret)
            self.__dict__.pop("logger", None)  # the next use creates a logger with the secret's level
        if not settings.database_url:
            raise SettingError("DATABASE_URL is not set")
        return settings

    @cached_property
    def _given_settings(self) -> Settings:
        """Reads settings from the environment variables, without the secret. Raises SettingError."""
        return Settings.read(self.variables)

    @cached_property
    def database(self) -> Database:
        """Returns the function's only connection, which reconnects after errors."""
        return self._database(self.settings.queue_database_driver)

    @cached_property
    def environment(self) -> Environment:
        """Returns the settings and the key of receipt handles. Raises ServiceUnavailable and InternalFailure. After an
        error the next use tries again.

        Logs problems with the session settings of the database's role.
        """
        environment = Environment(self.settings, load_receipt_handles(self.database), self.request_ids)
        for warning in self.database.connection().session.warnings:
            self.logger.warning(warning)
        return environment

    @cached_property
    def logger(self) -> "Logger":
        """Returns the logger. The first call imports powertools, so that other cold starts are faster."""
        try:
            return build_lambda_logger(self._known_settings.log_level)
        except SettingError:  # the caller logs this error
            return build_lambda_logger("info")

    @property
    def metrics(self) -> Metrics:
        """Returns the writer of counts and gauges."""
        return Metrics(self._known_settings.queue_account_id, self._known_settings.queue_region)

    def run(self, operation: "Operation[T]") -> T:
        """Runs the operation. If QUEUE_USAGE_METRICS is on, also writes metrics of the request's queues."""
        if not self.settings.queue_usage_metrics:
            return self._run(operation)
        usage = Usage()
        try:
            return self._run(operation, usage.count)
        finally:
            self.metrics.count_usage(usage.queues)

    def _run(self, operation: "Operation[T]", on_report: "Callable[[Report], None]" = ignore) -> T:
        if not self._bounds_waits:
            return run(operation, self.database, on_report, lengths=self._lengths)
        name = self.variables.get("AWS_LAMBDA_FUNCTION_NAME", "")
        with bound_waits(self.settings, name, self.database) as waits:
            return run(operation, self.database, on_report, waits.grant, self._lengths)

    def open_psycopg_connection(self) -> "psycopg.Connection[Row]":
        """Opens a psycopg connection for workers that need transactions. Raises ServiceUnavailable."""
        return cast("PsycopgConnection", self._psycopg.connection()).connection

    def traced(self, work: Callable[[], T], lambda_context: object) -> T:
        """Returns the result of `work`. If tracing is on, `work` runs in an X-Ray segment."""
        return trace_call(work, lambda_context) if self._is_traced else work()

    def close(self) -> None:
        """Closes the connections. Only tests call this method, because Lambda ends the process."""
        for database in ("database", "_psycopg"):
            if database in self.__dict__:
                self.__dict__[database].close()

    @property
    def _known_settings(self) -> Settings:
        """Returns the settings. Before the function has read the secret, the settings come only from the environment
        variables. Raises SettingError."""
        return self.settings if "settings" in self.__dict__ else self._given_settings

    @property
    def _is_traced(self) -> bool:
        try:
            return self._known_settings.queue_tracing
        except SettingError:  # the invocation raises the error later
            return False

    @cached_property
    def _psycopg(self) -> Database:
        if self.settings.queue_database_driver == "psycopg":
            return self.database
        return self._database("psycopg")

    def _database(self, driver: str) -> Database:
        settings = self.settings
        return Database(settings.database_url, driver, settings.call_seconds, self._read_new_address)

    @cached_property
    def _secret(self) -> "Secret | None":
        if self.variables.get("DATABASE_URL") or not self.variables.get("QUEUE_SECRET"):
            return None
        from .secret import Secret  # noqa: PLC0415 - a function without one does not need it

        return Secret(self.variables["QUEUE_SECRET"])

    def _read_new_address(self) -> str | None:
        """Returns the database's address from the secret, which can have a new password. Returns None without a secret,
        or if the secret was read a moment ago."""
        if self._secret is None or not self._secret.may_be_read():
            return None
        return self._read_secret(self._secret).database_url or None

    def _read_secret(self, secret: "Secret") -> Settings:
        return Settings.read({**self.variables, **secret.read()})
