"""Tests the packages from `make dist` with the installation commands in README.md, docs/start/install.md,
docs/guides/testing.md and docs/guides/worker.md: `make test-wheel`.

pip installs the package with each available interpreter, in a path that contains spaces. uvx and pipx install the
package as an unprivileged user. One test hides PostgreSQL. A user sends and receives a message with boto3, and Ctrl-C
leaves no process. The pytest fixtures work in the same environment.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from hatchling.builders.wheel import WheelBuilder

from penstock_web.local.postgres import free_port
from tests.support.database import Database
from tests.support.programs.penstock_up import running as running_up

ROOT = Path(__file__).parents[3]
DIST = ROOT / "dist"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SECONDS = 500  # An installation downloads up to 300 MB over a slow network.
SYSTEM_POSTGRES = Path("/usr/lib/postgresql")
AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
# A new mount namespace, in which the folder of Debian's PostgreSQL is empty.
WITHOUT_POSTGRES = [
    "unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {SYSTEM_POSTGRES} && exec "$@"', "sh"
]  # fmt: skip
EXCHANGE = """
import sys, boto3
sqs = boto3.client("sqs", endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="any",
    aws_secret_access_key="any")
url = sqs.create_queue(QueueName="orders")["QueueUrl"]
sqs.send_message(QueueUrl=url, MessageBody="hello")
(message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
print(message["Body"])
"""
is_root = os.geteuid() == 0
only_root = pytest.mark.skipif(not is_root, reason="needs root, to act as another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yields an empty folder that has a space in its path and is open to any user."""
    with tempfile.TemporaryDirectory(prefix="pen stock ", ignore_cleanup_errors=True) as name:
        path = Path(name)
        path.chmod(0o777)
        yield path


def uv() -> str:
    return shutil.which("uv") or str(ROOT / ".tools/bin/uv")


def interpreter(version: str) -> str:
    """Returns the given version's interpreter from PATH or pyenv. Skips the test if the interpreter is missing."""
    path = ":".join([os.environ["PATH"], *map(str, Path.home().glob(".pyenv/versions/*/bin"))])
    found = subprocess.run(
        [uv(), "python", "find", "--no-project", "--system", version],
        capture_output=True, text=True, check=False, cwd="/",
        env={**os.environ, "PATH": path, "UV_PYTHON_DOWNLOADS": "never"},
    )  # fmt: skip
    if found.returncode:
        pytest.skip(f"there is no Python {version} here")
    return found.stdout.strip()


def environment(folder: Path, *paths: Path) -> dict[str, str]:
    """Returns the environment of a user with an empty home folder. The user's installers search the folder of `make
    dist` and their index."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    path = ":".join(map(str, [*paths, "/usr/local/bin", "/usr/bin", "/bin"]))
    more = {"PIP_FIND_LINKS": DIST.as_uri(), "UV_FIND_LINKS": str(DIST), "UV_PYTHON_DOWNLOADS": "never"}
    return kept | more | {"HOME": str(folder), "PATH": path, "TMPDIR": "/tmp", "UV_CACHE_DIR": f"{folder}/cache"}


def run(*command: str | Path, **options: object) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=SECONDS, check=False, **options
    )  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@contextmanager
def running(command: list[str | Path], folder: Path, env: dict[str, str]) -> Iterator[str]:
    """Starts `penstock up` with the given command. Yields the command's standard error until it is ready."""
    port = free_port()
    arguments = [*map(str, command), "up", "--ephemeral", "--port", str(port)]
    with (
        (folder / "log").open("w+") as log,
        subprocess.Popen(
            arguments, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            assert process.stdout.readline().strip() == f"penstock ready on http://127.0.0.1:{port}", (
                folder / "log"
            ).read_text()
            body = run(sys.executable, "-c", EXCHANGE, f"http://127.0.0.1:{port}", cwd=folder, env=os.environ)
            assert body == "hello\n"
            yield (folder / "log").read_text()
        finally:
            os.killpg(process.pid, signal.SIGINT)  # A terminal also sends the signal to the whole process group.
            process.wait(60)
    assert process.returncode == 0, (folder / "log").read_text()
    assert list(folder.rglob("*.pid")) == []


def install(folder: Path, python: str, user: list[str]) -> Path:
    """Runs `pip install penstock-queue` in a new environment. Returns the environment's `bin` folder."""
    env = environment(folder)
    run(*user, python, "-m", "venv", folder / "an environment", cwd=folder, env=env)
    programs = folder / "an environment/bin"
    run(*user, programs / "python", "-m", "pip", "install", "--quiet", "penstock-queue", cwd=folder, env=env)
    return programs


@pytest.mark.wheel
@pytest.mark.parametrize("version", VERSIONS)
def test_pip_installs_a_service_that_starts(folder: Path, version: str) -> None:
    programs = install(folder, interpreter(version), [])
    with running([programs / "penstock"], folder, environment(folder, programs)):
        pass


@pytest.mark.wheel
@only_root
def test_pip_installs_for_an_unprivileged_user(folder: Path) -> None:
    programs = install(folder, "/usr/bin/python3", AS_NOBODY)
    with running([*AS_NOBODY, programs / "penstock"], folder, environment(folder, programs)):
        pass


@pytest.mark.wheel
@only_root
@pytest.mark.skipif(not SYSTEM_POSTGRES.exists(), reason="there is no PostgreSQL that could be hidden")
def test_a_machine_without_postgresql(folder: Path) -> None:
    programs = install(folder, interpreter("3.11"), [])
    with running([*WITHOUT_POSTGRES, programs / "penstock"], folder, environment(folder, programs)) as log:
        assert '"postgresql": "18.' in log


@pytest.mark.wheel
def test_the_fixtures_in_a_project_of_a_user(folder: Path) -> None:
    """The example project installs the wheel in its folder, and no package that only this project's tests need."""
    project = shutil.copytree(ROOT / "examples/pytest_project", folder / "project")
    shutil.copytree(DIST, project / "wheels", ignore=shutil.ignore_patterns("*.tar.gz"))
    programs = folder / "an environment/bin"
    env = {name: value for name, value in environment(folder, programs).items() if name != "PIP_FIND_LINKS"}
    run(interpreter("3.11"), "-m", "venv", programs.parent, cwd=folder, env=env)
    run(programs / "python", "-m", "pip", "install", "--quiet", "-r", "requirements.txt", cwd=project, env=env)
    done = run(programs / "python", "-m", "pytest", "-q", "-W", "error", cwd=project, env=env)
    assert "3 passed" in done


@pytest.mark.wheel
def test_uvx_starts_the_service(folder: Path) -> None:
    env = environment(folder)
    command: list[str | Path] = [uv(), "tool", "run", "--python", interpreter("3.11")]
    with running([*command, "--from", "penstock-queue", "penstock"], folder, env):
        pass


@pytest.mark.wheel
def test_pipx_starts_the_service(folder: Path) -> None:
    env = environment(folder)
    command: list[str | Path] = [uv(), "tool", "run", "--python", interpreter("3.11"), "pipx", "run"]
    with running([*command, "--spec", "penstock-queue", "penstock"], folder, env):
        pass


@pytest.mark.wheel
def test_two_builds_are_alike(folder: Path) -> None:
    for name in ("first", "second"):
        build: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-d", folder / name]
        run(*build, cwd=ROOT, env=os.environ)
        run(*build, "-t", "wheel", cwd=ROOT / "layers/worker", env=os.environ)
    for file in sorted((folder / "first").iterdir()):
        assert file.read_bytes() == (folder / "second" / file.name).read_bytes(), file.name


# --- penstock-worker -------------------------------------------------------------------------------------------------
# Installs the small wheel without the service's wheel, with one client (docs/guides/worker.md).

OVER_SQS = """
from penstock_worker import Message, worker

@worker("over-sqs")
def handle(message: Message) -> None:
    print(message.body)
    handle.stop()

handle.run()
"""
OVER_SQL = """
import asyncio, os
import psycopg
from penstock_worker import Message, worker

@worker("over-sql", database=os.environ["DATABASE_URL"])
async def handle(message: Message, connection: psycopg.AsyncConnection) -> None:
    await connection.execute("insert into done values (%s)", [message.body])
    handle.stop()

handle.run()
"""


@pytest.mark.wheel
@pytest.mark.parametrize(
    ("extra", "program", "absent"),
    [("boto3", OVER_SQS, "psycopg"), ("psycopg", OVER_SQL, "boto3")],
)
def test_a_worker_needs_one_client(folder: Path, extra: str, program: str, absent: str) -> None:
    env = environment(folder)
    python = folder / "worker/bin/python"
    run(interpreter("3.11"), "-m", "venv", folder / "worker", cwd=folder, env=env)
    run(python, "-m", "pip", "install", "--quiet", "penstock-worker", cwd=folder, env=env)
    run(python, "-c", "import penstock_worker", cwd=folder, env=env)
    listed = run(python, "-m", "pip", "list", "--format=freeze", cwd=folder, env=env)
    assert {line.partition("==")[0] for line in listed.split()} == {"penstock-worker", "pip", "setuptools"}
    binary = ["psycopg[binary]"] if extra == "psycopg" else []
    install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", f"penstock-worker[{extra}]", *binary]
    run(*install, cwd=folder, env=env)
    run(python, "-c", f"import importlib.util; assert not importlib.util.find_spec({absent!r})", cwd=folder, env=env)
    with running_up("--ephemeral") as up, psycopg.connect(up.dsn, autocommit=True) as connection:
        connection.execute("create table done (what text)")
        for name in ("over-sqs", "over-sql"):
            connection.execute("select queue.create(%s)", [name])
            connection.execute("select queue.send(%s, '7')", [name])
        variables = {
            "AWS_ENDPOINT_URL": up.address, "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "x", "DATABASE_URL": up.dsn,
        }  # fmt: skip
        printed = run(python, "-c", program, cwd=folder, env=env | variables)
        done = connection.execute("select what from done").fetchall()
    assert (printed, done) == (("7\n", []) if extra == "boto3" else ("", [("7",)]))


# --- metrics job -----------------------------------------------------------------------------------------------------
# Runs `penstock metrics run` from the wheel with its extra, in a separate environment (docs/operate/metrics_job.md).

UV = shutil.which("uv") or str(ROOT / ".tools/bin/uv")
ONE_CORE = ["metrics", "run", "--master", "local[1]", "--nice", "0"]


@pytest.fixture(scope="module")
def penstock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the wheel's command. The lock file fixes the versions."""
    folder = tmp_path_factory.mktemp("installed")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    python = folder / "environment/bin/python"
    install = [UV, "pip", "install", "--quiet", "--python", str(python)]
    for command in (
        [UV, "venv", "--quiet", "--python", sys.executable, str(folder / "environment")],
        [*install, "--require-hashes", "-r", str(ROOT / "requirements/metrics.lock")],
        [*install, "--no-deps", wheel],
    ):
        subprocess.run(command, check=True, timeout=500)
    return python.parent / "penstock"


@pytest.fixture
def variables(database: Database, tmp_path: Path) -> dict[str, str]:
    """Returns variables that name the database in a file, and omit this checkout from Python's path."""
    (tmp_path / "database").write_text(database.dsn)
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("select queue.create('orders')")
        connection.execute("select queue.send_batch('orders', array['1', '2', '3']::jsonb[])")
    usual = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "PYTHONPATH")}
    return {**usual, "DATABASE_URL_FILE": str(tmp_path / "database")}


def ends(database: Database) -> list[tuple[str, bool, str | None]]:
    """Returns each run's mode, whether the run has ended, and the run's error."""
    with psycopg.connect(database.dsn) as connection:
        return connection.execute(
            "select mode, finished_at is not null, error from queue.metrics_run order by run_id"
        ).fetchall()


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_a_run(penstock: Path, variables: dict[str, str], database: Database, tmp_path: Path) -> None:
    done = subprocess.run(
        [penstock, *ONE_CORE], env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    named = next(line for line in done.stderr.splitlines() if " database: " in line)
    assert f"dbname={psycopg.conninfo.conninfo_to_dict(database.dsn)['dbname']}" in named
    assert ends(database) == [("once", True, None)]
    with psycopg.connect(database.dsn) as connection:
        arrivals = connection.execute(
            "select sum(arrivals)::int from queue.metrics_window where window_seconds = 60 and group_id = ''"
        ).fetchone()
    assert arrivals == (3,)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_ctrl_c(penstock: Path, variables: dict[str, str], database: Database, tmp_path: Path) -> None:
    """Ctrl-C ends a run with a one-word message, and the database records the end."""
    command = [str(penstock), *ONE_CORE, "--continuous"]
    with subprocess.Popen(command, env=variables, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "looking for changes" in line and "rows" not in line:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130, "".join(lines)[-3000:]
    assert lines[-1].endswith(" stopped\n")
    assert not [line for line in lines if "Traceback" in line or line.startswith("\tat ")]
    assert ends(database) == [("continuous", True, "interrupted")]
