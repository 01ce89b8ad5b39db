"""Runs every command on the deployment pages from a clone in an empty folder, with an empty home folder.

HOW defines how the test runs each command. The test fails for a command without an entry.

    Run         The command runs and succeeds. `more` adds arguments. `instead` replaces parts of the command.
    Refused     The command runs until the CLI of AWS or SAM finds no credentials. `instead` replaces arguments.
    Elsewhere   A make target runs the command or its equivalent. `file` must contain `text`.
    Parsed      Bash only parses the command, because the test's machine lacks a requirement.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import boto3
import psycopg
import pytest
from hatchling.builders.wheel import WheelBuilder

from penstock_web.local.postgres import free_port
from tests.support.database import Database
from tests.support.deployment.page import blocks, clone_to, commands
from tests.support.functions.server import ROOT
from tests.support.wait import wait_until

pytestmark = pytest.mark.tools

PAGES = (
    "docs/operate/database.md",
    "docs/operate/containers.md",
    "docs/operate/ecs.md",
    "docs/operate/kubernetes.md",
    "docs/operate/systemd.md",
    "docs/operate/lambda.md",
    "docs/operate/lambda_local.md",
)
PYTHON = f"python3.{sys.version_info.minor}"
PROCESSOR = "x86_64" if platform.machine() == "x86_64" else "arm64"
# The build for AWS uses the template's defaults. This machine has another Python version, and perhaps another
# processor.
HERE = (
    "--parameter-overrides "
    f"ParameterKey=Runtime,ParameterValue={PYTHON} ParameterKey=Architecture,ParameterValue={PROCESSOR}"
)
UNGUIDED = {
    "--guided": "--stack-name penstock-other --s3-bucket none --no-execute-changeset --capabilities CAPABILITY_IAM"
}
COMPOSE, HELM = "infra/container/compose.yaml", "tests/system/helm/test_objects.py"


@dataclass(frozen=True)
class Run:
    more: str = ""
    instead: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Refused:
    instead: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Elsewhere:
    file: str
    text: str


@dataclass(frozen=True)
class Parsed:
    why: str


How = Run | Refused | Elsewhere | Parsed
# The test omits `sudo`, and replaces absolute folders with subfolders in the test's folder.
MACHINE = {"sudo ": "", "/opt/": "opt/", "/etc/": "etc/"}
NO_REGISTRY = Parsed("images come from a registry")
NO_CLUSTER = Parsed("there is no cluster")
SYSTEMD = Elsewhere("tests/system/deployment/test_systemd.py", "def test_systemd_runs_the_service")

# The keys are prefixes of the commands.
HOW: dict[str, How] = {
    "python -c 'import penstock_web.local as folder": Run(instead={"python -c": f"{sys.executable} -c"}),
    "docker build -f infra/container/Dockerfile": NO_REGISTRY,
    "docker run ": NO_REGISTRY,
    'echo "QUEUE_ENCRYPTION_KEY=': Run(),
    "docker compose -f infra/container/compose.yaml": Elsewhere("Makefile", f"vendor.compose-spec {COMPOSE}"),
    "aws secretsmanager create-secret": Refused(),
    "cat >penstock.tfvars": Run(),
    "terraform -chdir=infra/terraform init": Elsewhere("infra/local/check_terraform.sh", "terraform init"),
    "terraform -chdir=infra/terraform apply": Elsewhere("infra/local/check_terraform.sh", "terraform test"),
    "kubectl ": NO_CLUSTER,
    "cat >values.yaml": Run(),
    "helm install penstock infra/helm": Elsewhere("Makefile", "-m tools tests/system/helm"),
    "sudo -u postgres psql": Elsewhere("docs/guides/your_database.md", "create role penstock login createrole"),
    "sudo python3 -m venv /opt/penstock": Run(instead=MACHINE),
    "sudo /opt/penstock/bin/pip": Run(instead=MACHINE),
    "/opt/penstock/bin/penstock systemd": Run(instead=MACHINE),
    "sudo install ": Run(instead=MACHINE),
    "/opt/penstock/bin/penstock --version": Run(instead=MACHINE),
    "sudo sh -c": Elsewhere("tests/system/deployment/test_commands.py", "def test_the_commands_of_an_administrator"),
    "sudo systemctl": SYSTEMD,
    "sudo journalctl": SYSTEMD,
    "for port in": SYSTEMD,
    "sam build": Run(HERE),
    'sam build --parameter-overrides "$overrides"': Run(instead={'--parameter-overrides "$overrides"': HERE}),
    "export QUEUE_ACCESS=off": Run(),
    "overrides=": Run(),
    "echo '{\"Parameters\": ": Run(),
    "infra/local/compile_layer.sh": Run(instead={"python3.12": PYTHON}),
    "sam deploy": Refused(UNGUIDED),
    "aws cloudformation deploy": Refused({"…": "--stack-name penstock-other"}),
    "aws lambda invoke": Elsewhere("tests/system/local_lambda/test_migrate.py", "test_the_documented_command"),
    ".venv/bin/python -m infra.generate.gradual": Run(),
    "make lambda": Elsewhere("tests/system/deployment/test_commands.py", "make lambda ARGS"),
    "sam local start-api": Parsed("the command needs Docker; `make clients DEPLOYMENT=sam-local` runs it"),
}  # fmt: skip


def page_commands() -> list[str]:
    return [command for page in PAGES for block in blocks((ROOT / page).read_text()) for command in commands(block)]


def entry_of(command: str) -> str | None:
    """Returns the longest key that is a prefix of the command."""
    return max((start for start in HOW if command.startswith(start)), key=len, default=None)


def how_of(command: str) -> How:
    entry = entry_of(command)
    assert entry is not None, command
    return HOW[entry]


def changed(command: str, instead: dict[str, str]) -> str:
    for old, new in instead.items():
        command = command.replace(old, new)
    return command


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a clone that includes uncommitted changes, and an empty home folder beside the clone."""
    base = tmp_path_factory.mktemp("deployment")
    folder = base / "clone"
    clone_to(folder)
    programs, home = base / "bin", base / "home"
    programs.mkdir()
    home.mkdir()
    (programs / "sam").symlink_to(ROOT / ".tools/python/bin/sam")
    (programs / "aws").symlink_to(ROOT / ".venv/bin/aws")
    # `make setup` creates the same folder.
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def execute(clone: Path, command: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "VIRTUAL_ENV"))}
    path = f"{clone.parent}/bin:{ROOT}/.tools/lambda/bin:{os.environ['PATH']}"
    own = {"HOME": f"{clone.parent}/home", "PATH": path, "AWS_EC2_METADATA_DISABLED": "true"}
    environment = {**kept, **own, "AWS_DEFAULT_REGION": "us-east-1", "SAM_CLI_TELEMETRY": "0"}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=clone,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_each_command_has_an_entry_and_each_entry_a_command() -> None:
    found = page_commands()
    assert len(found) > 35
    assert [command for command in found if entry_of(command) is None] == []
    assert HOW.keys() - {entry_of(command) for command in found} == set()


def test_commands_that_other_tests_run_exist() -> None:
    for how in HOW.values():
        if isinstance(how, Elsewhere):
            assert how.text in (ROOT / how.file).read_text(), how


def test_commands_run_in_the_order_of_the_pages(clone: Path) -> None:
    (clone / "etc/systemd/system").mkdir(parents=True)
    (clone / "opt").mkdir()
    list(WheelBuilder(str(clone)).build(directory=str(clone / "dist"), versions=["standard"]))
    for command in page_commands():
        match how_of(command):
            case Run(more, instead):
                done = execute(clone, f"{changed(command, instead)} {more}".rstrip(" "))
                assert done.returncode == 0, f"{command}\n{done.stdout}"
            case Refused(instead):
                done = execute(clone, changed(command, instead))
                assert done.returncode != 0
                assert "Unable to locate credentials" in done.stdout, f"{command}\n{done.stdout}"
            case _:
                done = execute(clone, f"bash -n <<'PARSED'\n{command}\nPARSED")
                assert done.returncode == 0, f"{command}\n{done.stdout}"


def test_the_commands_of_an_administrator(database: Database, tmp_path: Path) -> None:
    """A shell reads the settings as the page writes them for systemd. The address has `&`, which ends a command if it
    is not in quotes."""
    page = [command for block in blocks((ROOT / "docs/operate/systemd.md").read_text()) for command in commands(block)]
    (written,) = (command for command in page if command.startswith("sudo install -m 600"))
    address, settings = "postgresql://penstock:owners-password@127.0.0.1:5432/penstock", tmp_path / "penstock.env"
    dsn = f"{database.api_dsn}?connect_timeout=9&application_name=administrator"
    places = {"sudo ": "", "/etc/penstock/penstock.env": str(settings), "/opt/penstock": f"{ROOT}/.venv", address: dsn}
    assert execute(tmp_path, changed(written, places)).returncode == 0
    create, examine = (execute(tmp_path, changed(each, places)) for each in page if each.startswith("sudo sh -c"))
    assert create.returncode == 0, create.stdout
    assert "PENSTOCK_TOKEN=" in create.stdout
    assert "encrypted with another" not in examine.stdout
    assert "no connection" not in examine.stdout


# --- from nothing ----------------------------------------------------------------------------------------------------
# Runs the clone's commands in docs/start/install.md, and `make lambda` in docs/operate/lambda_local.md.
#
# Each command runs in a bare clone until Ctrl-C.

# Variables that a newcomer's shell does not set.
OWN_VARIABLES = ("AWS_", "DATABASE_", "MAKE", "MFLAGS", "PENSTOCK_", "PYTEST_", "QUEUE_", "VIRTUAL_ENV", "XDG_")


@pytest.fixture(scope="module")
def bare_clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a bare clone, and the empty folder `home` beside the clone."""
    base = tmp_path_factory.mktemp("nothing")
    (base / "home").mkdir()
    clone_to(base / "clone")
    return base / "clone"


def environment(bare_clone: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN_VARIABLES)}
    path = ":".join(folder for folder in os.environ["PATH"].split(":") if not folder.startswith(f"{ROOT}/"))
    return {**kept, "HOME": f"{bare_clone.parent}/home", "PATH": path}


@contextmanager
def running(bare_clone: Path, command: str, ready: str) -> Iterator[str]:
    """Yields the command's output when the output matches `ready`. Ctrl-C then ends the command and all its
    processes."""
    with subprocess.Popen(
        ["bash", "-c", command], cwd=bare_clone, env=environment(bare_clone), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        printed = ""
        try:
            while line := process.stdout.readline():
                printed += line
                if re.search(ready, printed):
                    break
            assert re.search(ready, printed), printed
            yield printed
            assert process.poll() is None
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=60)
    wait_until(lambda: not processes_of(bare_clone))


def processes_of(bare_clone: Path) -> list[str]:
    """Returns the command lines of live processes that were started with this clone's home folder."""
    home = f"HOME={bare_clone.parent}/home".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if home in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_text())
        except OSError:  # The process has ended, or belongs to another user.
            continue
    return found


def run(bare_clone: Path, command: str, **variables: str) -> str:
    """Runs a command, which must succeed. Returns its output."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=bare_clone, env={**environment(bare_clone), **variables}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def send_and_receive(address: str) -> None:
    sqs = boto3.client(
        "sqs", endpoint_url=address, region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any"
    )  # fmt: skip
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    assert message["Body"] == "hello"
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    sqs.close()


def test_the_page_has_the_listed_commands() -> None:
    section = (ROOT / "docs/start/install.md").read_text().partition("\n## The repository\n")[2].partition("\n## ")[0]
    (block,) = blocks(section)
    assert list(commands(block)) == ["make run", "make metrics", "make test"]


def test_make_run_and_make_metrics(bare_clone: Path) -> None:
    """The test uses a separate port and database, because other programs may use the defaults."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with running(bare_clone, f'make run ARGS="--ephemeral --port {port}"', r"\ndatabase (\S+).*\n") as printed:
        assert f"penstock ready on {address}\n" in printed
        send_and_receive(address)
        database = re.findall(r"^database (\S+)", printed, re.MULTILINE)[0]
        run(bare_clone, "make metrics", DATABASE_URL=database)
        with psycopg.connect(database) as db:
            assert db.execute("select count(*) > 0 from queue.metrics_run").fetchone() == (True,)
    assert not is_open(port)
    assert not (bare_clone.parent / "home/.local/state").exists()


def test_make_test(bare_clone: Path) -> None:
    assert re.search(r"^\d+ passed", run(bare_clone, "make test ARGS='tests/integration/sql/send -q'"), re.MULTILINE)


def test_make_lambda(bare_clone: Path) -> None:
    port, other = free_port(), free_port()
    arguments = f"--ephemeral --port {port} --alb-port {other}"
    with running(bare_clone, f'make lambda ARGS="{arguments}"', r"\d+ functions, .*\n") as printed:
        assert f"lambda ready on http://127.0.0.1:{port}, " in printed
        send_and_receive(f"http://127.0.0.1:{port}")
        send_and_receive(f"http://127.0.0.1:{other}")
    assert not is_open(port)
    assert not is_open(other)
    assert not (bare_clone.parent / "home/.local/state").exists()
