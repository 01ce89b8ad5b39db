"""Runs Penstock as the container and as the Lambda functions. Both deployments have an endpoint for clients."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.support.database import Database
from tests.support.functions.server import FunctionServer
from tests.support.programs.penstock_service import running_up
from tests.support.wait import wait_until
from tests.support.web.prometheus_text import scrape

# Each worker runs once and then sleeps, because the tests' clock changes times. Tests run a worker explicitly.
IDLE_WORKERS = {
    "QUEUE_MAINTAIN_INTERVAL_MS": "3600000",
    "QUEUE_MOVE_INTERVAL_MS": "3600000",
    "QUEUE_DRAIN_SECONDS": "1",
}
SCRAPE_TOKEN = "scrape"

# DEFAULT keeps AWS's limits (one purge and one re-creation of a queue in 60 s). NO_WAITING_PERIODS removes the limits.
DEFAULT: Mapping[str, str] = {}
NO_WAITING_PERIODS = {"QUEUE_PURGE_INTERVAL_SECONDS": "0", "QUEUE_RECREATE_INTERVAL_SECONDS": "0"}


@contextmanager
def container(database: Database, variables: Mapping[str, str]) -> Iterator[str]:
    """Runs `penstock up` as a process, through PgBouncer, with a direct address for LISTEN. Yields the endpoint URL."""
    addresses = {"DATABASE_URL": database.pooled_dsn, "DATABASE_DIRECT_URL": database.api_dsn}
    settings = {**IDLE_WORKERS, **addresses, "QUEUE_METRICS_TOKEN": SCRAPE_TOKEN, **variables}
    with running_up(settings) as endpoint_url:
        wait_until(lambda: _workers_rest(endpoint_url))
        yield endpoint_url


def _workers_rest(endpoint_url: str) -> bool:
    """Returns whether the container's workers have completed their first run."""
    runs = scrape(endpoint_url, authorization=f"Bearer {SCRAPE_TOKEN}")
    return all(
        runs.has("penstock_worker_runs_total", worker=worker, outcome="success") for worker in ("maintain", "move")
    )


@contextmanager
def functions(database: Database, variables: Mapping[str, str]) -> Iterator[str]:
    """Runs the Lambda functions behind an HTTP server. Yields the server's endpoint URL."""
    with FunctionServer(database.pooled_dsn, variables=variables) as deployment:
        yield deployment.endpoint_url


STARTERS = {"container": container, "lambda": functions}
DEPLOYMENTS = tuple(STARTERS)


@dataclass(eq=False)
class Deployments:
    """Starts a database's deployments on demand, by kind and settings. A deployment runs until the end of the tests."""

    database: Database
    stack: ExitStack = field(default_factory=ExitStack)
    _open: dict[tuple[str, frozenset[tuple[str, str]]], str] = field(default_factory=dict)

    def endpoint_url(self, kind: str, variables: Mapping[str, str] = DEFAULT) -> str:
        """Returns the URL of a deployment. `kind` is container or lambda."""
        key = (kind, frozenset(variables.items()))
        if key not in self._open:
            self._open[key] = self.stack.enter_context(STARTERS[kind](self.database, variables))
        return self._open[key]
