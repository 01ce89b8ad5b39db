"""Runs Penstock as a system under test: a service with a separate database, or a service that is already running."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

from .load.driver import Callers, HttpLoad
from .load.fleet import Fleet
from .load.wire import Key
from .measure.cpu import Meter, processes_below
from .measure.outcome import Outcome, Plan, StageCallback, ignore_stages
from .postgres import binaries_of, checkpoint, data_folder, postmaster_of, settings_of, shown_settings
from .scenarios import Scenario
from .system import bytes_below, free_port, stop_process, wait_until

READY = re.compile(r"^penstock ready on (\S+)", re.MULTILINE)
DATABASE = re.compile(r"^database (.+?)\s*$", re.MULTILINE)


class Penstock:
    """Implements the system `penstock`.

    `endpoint`, `pids` and `dsn` belong to a running service. `dsn` can be empty.

    `programs` is the folder that contains `penstock`, in this environment or in another environment. `settings`
    contains more environment variables for the service.
    """

    name = "penstock"

    def __init__(
        self,
        fleet: Fleet,
        endpoint: str = "",
        pids: tuple[int, ...] = (),
        dsn: str = "",
        programs: Path | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._fleet = fleet
        self._programs = programs or Path(sys.executable).parent
        self._settings = dict(settings)
        self.callers = Callers()
        self.endpoint = endpoint
        self._pids = pids
        self.dsn = dsn
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    def start(self) -> None:
        """Starts the service if it is not running.

        If the service does not start, raises UnavailableError with the service's output.
        """
        if not self.endpoint:
            self._launch()
        self.meter = Meter(self._roots())

    def _launch(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-bench"))
        port, log = free_port(), self._folder / "log"
        command = [str(self._programs / "penstock"), "up", "--ephemeral", "--port", str(port)]
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, env=self.environment(), stdout=output, stderr=output)
        wait_until(lambda: announced(log) != "", self._process, log)
        self.dsn = self.dsn or announced(log)
        self.endpoint, self._pids = f"http://127.0.0.1:{port}", (self._process.pid,)

    def environment(self) -> dict[str, str]:
        return {**os.environ, **self._settings}

    def create_key(self, account: str) -> Key:
        """Creates an access key that allows everything in this account."""
        key_id, secret, _ = self._create_key("--account", account)
        return Key(account, key_id.partition("=")[2], secret.partition("=")[2])

    def create_bearer_key(self, account: str) -> str:
        """Creates a key for this account's REST API. Returns the value of the Authorization header."""
        key = self._create_key("--bearer", "--account", account)[0].partition("=")[2]
        return f"Bearer {key}"

    def _create_key(self, *arguments: str) -> list[str]:
        command = [str(self._programs / "penstock"), "keys", "create", *arguments]
        variables = self.environment() | {"DATABASE_URL": self.dsn}
        done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    def _roots(self) -> dict[str, list[int]]:
        """Returns the server side's process trees. If the service has a PgBouncer, lists PgBouncer separately."""
        roots = {"service": list(self._pids)}
        if self.dsn:
            roots["postgresql"] = [postmaster_of(self.dsn)]
        poolers = [pid for root in self._pids for pid in processes_below(root, "pgbouncer") if pid not in self._pids]
        return roots | ({"pgbouncer": poolers} if poolers else {})

    def stop(self) -> None:
        """Stops the service if this object has started it."""
        stop_process(self._process)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def supports(self, scenario: Scenario) -> bool:  # noqa: ARG002 - all of them
        return True

    def run(self, scenario: Scenario, plan: Plan, watch: StageCallback = ignore_stages) -> Outcome:
        """Makes one run. A checkpoint precedes each call of `watch`, so that no checkpoint disturbs the measured
        time."""

        def settled(stage: str) -> None:
            self.settle()
            watch(stage)

        load = HttpLoad(self.name, self.endpoint, self._fleet, self.meter, self.callers)
        return load.run(scenario, plan, settled)

    def settle(self) -> None:
        if self.dsn:
            checkpoint(self.dsn)

    def facts(self) -> dict[str, object]:
        try:
            number = version("penstock-queue")
        except PackageNotFoundError:
            number = "unknown"
        return {
            "version": number,
            "commit": commit(),
            "postgresql": shown_settings(self.dsn) if self.dsn else "unknown",
        }

    def pss_bytes(self) -> dict[str, int | None]:
        return self.meter.pss_bytes()

    def disk_bytes(self) -> int | None:
        return bytes_below(data_folder(self.dsn)) if self.dsn else None

    def database_settings(self) -> dict[str, str]:
        """Returns the settings that a peer's database copies, or an empty result if the database is unknown."""
        return settings_of(self.dsn) if self.dsn else {}

    def database_binaries(self) -> Path:
        return binaries_of(postmaster_of(self.dsn) if self.dsn else None)


def announced(log: Path) -> str:
    """Returns the DSN of the database from the service's output, or "" until the service is ready."""
    text = log.read_text(errors="replace")
    database = DATABASE.search(text)
    return database.group(1) if READY.search(text) and database else ""


def commit() -> str:
    """Returns the commit of the benchmark's work tree, with a mark if files differ from the commit."""
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=Path(__file__).parent)
    return done.stdout.strip() or "unknown"
