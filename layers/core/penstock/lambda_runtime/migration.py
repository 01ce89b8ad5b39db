"""The function that migrates the database (infra/migrate). Invoke the function by hand or in a pipeline before you
deploy the other functions.

    event     {} or {"tune_role": "penstock_functions"}, as in `penstock migrate --tune-role`
    result    {"release": "0.1.0", "migrations": ["0001_baseline.sql"], …, "report": ["applied 0001_baseline.sql", …]}
    error     `errorType` is a class of `penstock.postgres.migrating` or this module. `errorMessage` is the reason.

The function's package is the folder sql/, which other functions do not need. The handler is in the core layer.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from penstock.errors import ServiceUnavailable
from penstock.postgres.migrating import describe_applied, migrate_or_explain
from penstock.postgres.migrations import RELEASE

from .environment import ExecutionEnvironment


class InvalidEventError(Exception):
    """The event has a member other than `tune_role`, or `tune_role` is not a text."""


class SecretUnavailableError(Exception):
    """The secret in QUEUE_SECRET cannot be read."""


def handler(event: Mapping[str, object], lambda_context: object) -> dict[str, object]:  # noqa: ARG001 - Lambda's form
    """Returns the result of `migrate`. LAMBDA_TASK_ROOT contains the path of the package's folder."""
    return migrate(event, Path(os.environ["LAMBDA_TASK_ROOT"]), ExecutionEnvironment())


def migrate(event: Mapping[str, object], directory: Path, environment: ExecutionEnvironment) -> dict[str, object]:
    """Migrates the database to the SQL in `directory`. The address is DATABASE_DIRECT_URL, or otherwise DATABASE_URL.

    Returns the members of `Applied`, the release, and `report`: the lines that `penstock migrate` would print. Raises
    MigrationError, SettingError, InvalidEventError and SecretUnavailableError.
    """
    role = read_tune_role(event)
    try:
        settings = environment.settings
    except ServiceUnavailable as error:
        raise SecretUnavailableError(f"the secret cannot be read: {error.__cause__ or error}") from error
    applied = migrate_or_explain(settings.direct_url, role, directory, settings)
    return {"release": RELEASE, **asdict(applied), "report": list(describe_applied(applied))}


def read_tune_role(event: Mapping[str, object]) -> str | None:
    """Returns the role that receives the session settings of the service. Raises InvalidEventError."""
    role = event.get("tune_role")
    if event.keys() - {"tune_role"} or not isinstance(role, str | None):
        raise InvalidEventError('an event is {} or {"tune_role": "name of a role"}')
    return role
