"""Reads the measurements of the whole installation, which contain data of every account."""

from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.installation import READ_INSTALLATION, READ_SERVER, InstallationRow, ServerRow

from .rights import needs


@needs("account", "penstock:GetMetrics")
def read_scope(context: Context) -> Operation[str | None]:
    """Returns the account whose lines of /metrics the caller may read, or None if the caller may read all lines."""
    yield from ()
    settings = context.environment.settings
    is_owner = settings.queue_access != "sigv4" or context.account_id == settings.queue_account_id
    return None if is_owner else context.account_id


@needs("account", "penstock:GetMetrics")
def read_installation(context: Context) -> Operation[list[InstallationRow]]:  # noqa: ARG001 - the caller's rights
    """Returns the last measurements of the worker `measure`."""
    return (yield from Call(READ_INSTALLATION, ()))


@needs("account", "penstock:GetMetrics")
def read_server(context: Context) -> Operation[list[ServerRow]]:  # noqa: ARG001 - the caller's rights
    """Returns the server's current state."""
    return (yield from Call(READ_SERVER, ()))
