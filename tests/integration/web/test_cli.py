"""Tests the command line: its help texts, refused arguments, and output to a pipe."""

import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from penstock_web.cli import application, main
from penstock_web.cli.commands import files
from tests.support.web.bus_options import BUS_OPTIONS

COMMANDS = list(typer.main.get_command(application()).commands)  # type: ignore[attr-defined]
COMMAND = [sys.executable, "-m", "penstock_web.cli"]
SELECTION = ["--text TEXT", "--json [PATH=VALUE]", "--filter JSON", "--attribute NAME=VALUE"]
SELECTED = ["NAME", "--to QUEUE", "--id ID", *SELECTION, "--rate N", "--endpoint URL"]
# Maps each command to the options and arguments that its help text must contain.
OPTIONS: dict[str, list[str]] = {
    "": ["--version", "--install-completion", "--show-completion"],
    "up": [
        "--host HOST",
        "--port PORT",
        "--data-dir DIR",
        "--ephemeral",
        "--workers N",
        "--no-migrate",
        "--no-pooler",
        "--database URL",
        "--file FILE",
        "--first-key",
    ],
    "migrate": ["--database URL", "--dump FILE", "--ephemeral", "--tune-role NAME", "--first-key"],
    "doctor": ["--database URL", "--json", "--after-restore", "--fix"],
    "keys": ["create", "list", "show", "limit", "revoke", "rotate-signing"],
    "keys create": [
        "--account ID",
        "--description TEXT",
        "--bearer",
        "--user NAME",
        "--expires TIME",
        "--endpoint URL",
        "--json",
    ],
    "keys show": ["ID", "--endpoint URL"],
    "keys limit": ["ID", "--expires TIME", "--endpoint URL"],
    "users": ["create", "list", "show", "limit", "end"],
    "users create": ["NAME", "--policy POLICY", "--account ID", "--endpoint URL"],
    "users list": ["--endpoint URL"],
    "users show": ["NAME", "--account ID", "--endpoint URL"],
    "users limit": ["NAME", "--policy POLICY", "--account ID", "--endpoint URL"],
    "users end": ["NAME", "--account ID", "--endpoint URL"],
    "roles": ["set", "list", "unset"],
    "roles set": ["ROLE", "--account ID", "--region NAME"],
    "roles list": [],
    "roles unset": ["ROLE"],
    "keys list": ["--endpoint URL"],
    "keys revoke": ["ID", "--endpoint URL"],
    "keys rotate-signing": [],
    "alerts": ["--service URL"],
    "alerts mute": ["KIND", "NAME", "--hours N", "--endpoint URL", "--json"],
    "alerts unmute": ["KIND", "NAME", "--endpoint URL", "--json"],
    "dashboards": ["NAME"],
    "systemd": ["NAME"],
    "example": [],
    "init": ["FOLDER"],
    "ui": ["--endpoint URL"],
    "top": ["--sort COLUMN", "--interval SECONDS", "--endpoint URL", "--json"],
    "watch": ["NAME", "--interval SECONDS", "--count N", "--endpoint URL", "--json"],
    "queues": ["--endpoint URL", "--json"],
    "queue": ["NAME", "--endpoint URL", "--json"],
    "create": ["NAME", "--attribute NAME=VALUE", "--dead-letters QUEUE", "--max-receives N", "--endpoint URL"],
    "send": ["NAME", "MESSAGE", "--delay SECONDS", "--group ID", "--dedup ID", "--endpoint URL", "--json"],
    "receive": ["NAME", "--max N", "--wait SECONDS", "--hide SECONDS", "--delete", "--endpoint URL", "--json"],
    "peek": ["NAME", "--state STATE", "--limit N", *SELECTION, "--endpoint URL"],
    "message": ["ID", "--queue NAME", "--endpoint URL", "--json"],
    "tail": ["NAME", "--count N", "--endpoint URL", "--json"],
    "purge": ["NAME", "--yes", "--endpoint URL", "--json"],
    "delete": ["NAME", "--id ID", "--receipt TEXT", "--yes", "--endpoint URL", "--json"],
    "pause": ["NAME", "--endpoint URL", "--json"],
    "resume": ["NAME", "--endpoint URL", "--json"],
    "receivers": ["NAME", "--endpoint URL", "--json"],
    "search": ["NAME", *SELECTION, "--limit N", "--endpoint URL"],
    "failures": ["NAME", "--by WHAT", *SELECTION[:-1], "--attribute NAME[=VALUE]", "--endpoint URL"],
    "redrive": [*SELECTED, "--canary N", "--wait", "--yes"],
    "edit": [*SELECTED, "--set PATH=VALUE", "--preview"],
    "moves": ["list", "continue", "cancel"],
    "moves list": ["NAME", "--endpoint URL", "--json"],
    "moves continue": ["NAME", "ID", "--rate N", "--endpoint URL", "--json"],
    "moves cancel": ["NAME", "ID", "--endpoint URL", "--json"],
    "topics": ["list", "show", "create", "delete"],
    "topics list": ["--endpoint URL", "--json"],
    "topics show": ["TOPIC", "--endpoint URL", "--json"],
    "topics create": ["TOPIC", "--endpoint URL", "--json"],
    "topics delete": ["TOPIC", "--yes", "--endpoint URL", "--json"],
    "publish": ["TOPIC", "MESSAGE", "--subject TEXT", "--header NAME=VALUE", "--group ID", "--dedup ID", "--json"],
    "subscriptions": ["list", "create", "delete"],
    "subscriptions list": ["TOPIC", "--endpoint URL", "--json"],
    "subscriptions create": [
        "TOPIC",
        "--queue QUEUE",
        "--url URL",
        "--filter JSON",
        "--filter-on WHAT",
        "--raw",
        "--dead-letters QUEUE",
        "--endpoint URL",
        "--json",
    ],
    "subscriptions delete": ["ARN", "--endpoint URL", "--json"],
    "webhooks": ["list", "attempts", "pause", "resume", "test", "replay"],
    "webhooks list": ["--endpoint URL", "--json"],
    "webhooks attempts": ["--url URL", "--failed", "--limit N", "--endpoint URL", "--json"],
    "webhooks pause": ["URL", "--endpoint URL", "--json"],
    "webhooks resume": ["URL", "--endpoint URL", "--json"],
    "webhooks test": ["URL", "--endpoint URL", "--json"],
    "webhooks replay": ["--url URL", "--since TIME", "--endpoint URL", "--json"],
    "apply": [
        "--file FILE",
        "--prune",
        "--dry-run",
        "--yes",
        "--schema",
        "--endpoint URL",
        "--region NAME",
        "--account ID",
        "--json",
    ],
    "export": ["--output FILE", "--endpoint URL", "--region NAME"],
    "import": ["--from URL", "--output FILE", "--region NAME"],
    "status": ["--endpoint URL", "--json"],
    "schedules": ["list", "show", "put", "pause", "resume", "run", "delete", "preview"],
    "schedules list": ["--status STATUS", "--prefix TEXT", "--endpoint URL", "--json"],
    "schedules show": ["NAME", "--endpoint URL", "--json"],
    "schedules put": [
        "NAME",
        "--message TEXT",
        "--queue NAME",
        "--event KEY",
        "--cron FIELDS",
        "--every TIME",
        "--when WORDS",
        "--at TIME",
        "--timezone NAME",
        "--endpoint URL",
        "--json",
    ],
    "schedules pause": ["NAME", "--endpoint URL", "--json"],
    "schedules resume": ["NAME", "--endpoint URL", "--json"],
    "schedules run": ["NAME", "--endpoint URL", "--json"],
    "schedules delete": ["NAME", "--endpoint URL", "--json"],
    "schedules preview": ["--timezone NAME", "--count N", "--endpoint URL", "--json"],
    "mappings": ["list", "show", "put", "enable", "disable", "delete"],
    "mappings list": ["--queue NAME", "--function NAME", "--endpoint URL", "--json"],
    "mappings show": ["ID", "--endpoint URL", "--json"],
    "mappings put": [
        "QUEUE",
        "FUNCTION",
        "--batch-size N",
        "--window SECONDS",
        "--max-concurrency N",
        "--filter JSON",
        "--report-failures",
        "--disabled",
        "--endpoint URL",
        "--json",
    ],
    "mappings enable": ["ID", "--endpoint URL", "--json"],
    "mappings disable": ["ID", "--endpoint URL", "--json"],
    "mappings delete": ["ID", "--endpoint URL", "--json"],
    **BUS_OPTIONS,
    "deliveries": ["list", "retry"],
    "deliveries list": ["--state STATE", "--endpoint URL", "--json"],
    "deliveries retry": ["ID", "--endpoint URL", "--json"],
    "metrics": ["lag", "report", "run"],
    "metrics lag": ["--limit NUMBER", "--target-lag SECONDS", "--json", "--endpoint URL"],
    "metrics report": ["--output FILE", "--from TIME", "--to TIME", "--queue NAME"],
    "settings": ["--database URL", "--markdown"],
    "demo": ["--endpoint URL"],
    "worker": ["--host HOST", "--port PORT", "--ready-fd READY_FD", "--metrics-folder METRICS_FOLDER"],
}


def piped(*arguments: str, command: Sequence[str] = COMMAND, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command whose output is not a terminal."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DATABASE_")}
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, env={**environment, **variables}
    )


def on_a_terminal(*arguments: str, columns: int = 100) -> str:
    """Runs a command in a terminal and returns the output."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as reader:
        variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}
        with subprocess.Popen([*COMMAND, *arguments], stdout=theirs, stderr=theirs, env=variables):
            os.close(theirs)
            pieces = []
            try:
                while piece := reader.read(4096):
                    pieces.append(piece)
            except OSError:  # Linux reports the closed terminal as an error.
                pass
    return b"".join(pieces).decode()


def test_every_command_is_in_this_test() -> None:
    assert {command.partition(" ")[0] for command in OPTIONS} - {""} == set(COMMANDS)


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("command", OPTIONS)
def test_help_lists_every_option(command: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), flag]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert words.startswith(f"Usage: penstock {command}".rstrip() + " ")
    assert [option for option in OPTIONS[command] if option not in words] == []


def test_help_lists_the_commands_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    """Returns all commands except `worker`, which only `penstock up` starts."""
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed if line[:3].strip()] == [name for name in COMMANDS if name != "worker"]


@pytest.mark.parametrize("command", OPTIONS)
def test_an_unknown_option_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--unknown"])
    output = capsys.readouterr()
    usage, error = output.err.splitlines()
    name = f"penstock {command}".rstrip()
    assert (ended.value.code, output.out) == (2, "")
    assert usage.startswith(f"Usage: {name} ")
    assert error.startswith(f"{name}: error: No such option: --unknown")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("unknown", "penstock: error: No such command 'unknown'"),
        ("keys", "penstock keys: error: Missing command"),
        ("keys revoke", "penstock keys revoke: error: Missing argument 'ID'"),
        ("metrics report", "penstock metrics report: error: Missing option '--output'"),
        ("settings more", "penstock settings: error: Got unexpected extra argument"),
        ("up --port", "penstock: error: Option '--port' requires an argument"),
        ("up --port x", "penstock up: error: argument --port: 'x' is not a number from 0 to 65535"),
        (
            "up --data-dir x --ephemeral",
            "penstock up: error: argument --ephemeral: not allowed with argument --data-dir",
        ),
        (
            "metrics report --output x --from yesterday",
            "argument --from: 'yesterday' is not a time such as 2030-01-31T09:00:00Z",
        ),
    ],
)
def test_wrong_arguments_are_refused(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    output = capsys.readouterr()
    assert (ended.value.code, output.out) == (2, "")
    assert said in output.err.splitlines()[-1]


def test_without_a_command_it_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("Usage: penstock [OPTIONS] COMMAND")
    assert "start the service" in said


@pytest.mark.parametrize("command", ["keys list", "migrate", "up --no-pooler", "metrics report --output x.html"])
def test_an_address_that_is_none_is_one_line(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_DIRECT_URL", raising=False)
    monkeypatch.setenv("DATABASE_URL", "nonsense")
    assert main(command.split()) == 1
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith("penstock: DATABASE_URL is not the address of a PostgreSQL")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://app:secret@db/shop?sslmode=require", "user=app dbname=shop host=db sslmode=require"),
        ("host=db.example user=app password='se cr\\'et' sslpassword=secret", "user=app host=db.example"),
        ("mysql://app:secret@db.example/shop", "(set, but not a PostgreSQL address)"),
        ("postgresql:///shop?password=secret", "dbname=shop"),
    ],
)  # fmt: skip
def test_settings_show_no_secrets(
    address: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secrets = {"QUEUE_ENCRYPTION_KEY": f"secret{'A' * 37}=", "WEBHOOK_SIGNING_SECRET": "whsec_secret"}
    secrets["XDG_CACHE_HOME"] = str(tmp_path)  # no service runs there
    for name, value in {**secrets, "DATABASE_URL": address, "DATABASE_DIRECT_URL": address}.items():
        monkeypatch.setenv(name, value)
    assert main(["settings"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    lines = dict(line.split("=", 1) for line in output.out.splitlines())
    for name in ("DATABASE_URL", "DATABASE_DIRECT_URL"):
        assert set(lines[name].split()) == set(shown.split())
    assert "secret" not in output.out
    assert "se cr" not in output.out
    assert (lines["QUEUE_ENCRYPTION_KEY"], lines["WEBHOOK_SIGNING_SECRET"]) == ("(set)", "(set)")


def test_a_demo_without_an_address_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--endpoint", "nonsense"]) == 1
    assert capsys.readouterr() == ("", "penstock: nonsense is not an address such as http://127.0.0.1:9324\n")


PIPED = ("--help", "up --help", "up --unknown", "settings", "keys list")
# Runs the commands one after the other, because the variables already take effect when the interpreter imports Typer.
RUN_ALL = """
import sys
from penstock_web.cli import main
for command in sys.argv[1:]:
    try:
        main(command.split())
    except SystemExit:
        pass
    for stream in (sys.stdout, sys.stderr):
        print(end=chr(0), file=stream, flush=True)
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, str]]:
    """Returns what each command prints to pipes: with the variables of this process, and if variables request
    colours.
    """
    # The output lists the running services, which other tests start and stop.
    home = {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("home"))}
    colours = {"FORCE_COLOR": "1", "GITHUB_ACTIONS": "true", "TERM": "xterm-256color"}
    plain, forced = (
        piped(*PIPED, command=[sys.executable, "-c", RUN_ALL], **variables) for variables in (home, {**home, **colours})
    )
    return by_command(plain), by_command(forced)


def by_command(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert done.returncode == 0
    pieces = zip(done.stdout.split("\0"), done.stderr.split("\0"), strict=True)
    return dict(zip((*PIPED, "the end"), ("".join(pair) for pair in pieces), strict=True))


@pytest.mark.parametrize("arguments", PIPED)
def test_a_pipe_gets_no_escape_codes(arguments: str, outputs: tuple[dict[str, str], dict[str, str]]) -> None:
    """Output to a pipe contains no colours, even if a variable requests colours, as on GitHub's runners."""
    plain, forced = outputs
    assert plain[arguments] != ""
    assert "\x1b" not in plain[arguments]
    assert forced[arguments] == plain[arguments]


def test_a_terminal_gets_help_by_rich() -> None:
    shown = on_a_terminal("up", "--help")
    assert "\x1b[" in shown
    assert "╭" in shown


def test_a_narrow_terminal_gets_whole_summaries() -> None:
    shown = on_a_terminal("--help", columns=60)
    assert "show the programs that received" in shown
    assert "…" not in shown
    assert "..." not in shown.replace("[ARGS]...", "")


def test_before_a_command_runs_nothing_heavy_is_imported() -> None:
    heavy = {"rich", "pydantic", "fastapi", "uvloop", "psycopg", "boto3", "cryptography", "asyncio"}
    code = (
        "import sys; from penstock_web.cli import main; main(['settings'])\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stderr.split())
    assert "typer" in imported
    assert not heavy & imported


def test_the_page_of_the_settings_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[3] / "docs/reference/settings.md"
    assert main(["settings", "--markdown"]) == 0
    assert capsys.readouterr().out == page.read_text()


def test_output_that_nobody_reads_is_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "penstock_web.cli", "settings"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}  # no service runs there
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 1)


@pytest.mark.parametrize("group", [[], ["keys"], ["metrics"], ["webhooks"], ["schedules"]])
def test_the_help_shows_whole_summaries(group: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):
        main([*group, "--help"])
    shown = capsys.readouterr().out
    assert "Commands" in shown
    assert "..." not in shown.split("Commands", 1)[1]


@pytest.mark.parametrize("place", ["checkout", "package"])
def test_files_that_the_documents_name_are_printed(
    place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An installed package contains the printed files in the folder `penstock_web/files`."""
    root = Path(files.__file__).parents[5]
    if place == "package":
        (tmp_path / "penstock_web/cli/commands").mkdir(parents=True)
        shutil.copytree(root / "infra/container/grafana/dashboards", tmp_path / "penstock_web/files/dashboards")
        shutil.copytree(root / "infra/systemd", tmp_path / "penstock_web/files/systemd")
        shutil.copy(root / "infra/container/prometheus/alerts.yaml", tmp_path / "penstock_web/files")
        shutil.copy(root / "requirements/service.lock", tmp_path / "penstock_web/files")
        shutil.copy(root / "examples/penstock.yaml", tmp_path / "penstock_web/files")
        monkeypatch.setattr(files, "__file__", str(tmp_path / "penstock_web/cli/commands/files.py"))
    for command, file in {
        "alerts": "infra/container/prometheus/alerts.yaml",
        "example": "examples/penstock.yaml",
        "dashboards penstock-queue": "infra/container/grafana/dashboards/penstock-queue.json",
        "systemd penstock.service": "infra/systemd/penstock.service",
        "systemd service.lock": "requirements/service.lock",
    }.items():
        assert main(command.split()) == 0
        assert capsys.readouterr().out == (root / file).read_text()
    rules = (root / "infra/container/prometheus/alerts.yaml").read_text()
    assert main(["alerts", "--service", "https://queues.example.com/"]) == 0
    pages, served = (re.findall(r"runbook_url: (\S+)", text) for text in (rules, capsys.readouterr().out))
    assert served == [f"https://queues.example.com{page}" for page in pages]
    assert main(["dashboards"]) == 0
    assert capsys.readouterr().out.split() == ["penstock", "penstock-queue"]
    assert main(["systemd"]) == 0
    printed = ["penstock-metrics.service", "penstock-metrics.timer", "penstock.service", "penstock@.service"]
    printed.append("service.lock")
    assert capsys.readouterr().out.split() == printed
    assert main(["systemd", "other"]) == 1
    assert f"The files are {', '.join(printed)}" in capsys.readouterr().err
    assert main(["dashboards", "other"]) == 1
    assert "The dashboards are penstock, penstock-queue" in capsys.readouterr().err


def test_init_writes_an_application_into_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/start/install.md describes how to run an application's tests."""
    folder = tmp_path / "new/app"
    assert main(["init", str(folder)]) == 0
    written = {"compose.yaml", "penstock.yaml", "test_worker.py", "worker.py"}
    assert {path.name for path in folder.iterdir()} == written
    assert "penstock up --file penstock.yaml" in capsys.readouterr().out
    (folder / "worker.py").write_text("mine")
    assert main(["init", str(folder)]) == 1
    assert "is not an empty folder" in capsys.readouterr().err
    assert (folder / "worker.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["peek", "orders", "--state", "lost"], "'lost' is not visible, in_flight, delayed or all"),
        (["failures", "orders", "--by", "lost"], "'lost' is not cause, source, shape, receive_count or attribute"),
        (["search", "orders", "--filter", '{"a" 1}'], "character 6, '1': expecting ':' delimiter"),
        (["search", "orders", "--filter", '{"ä": '], "the text ends after character 6: expecting value"),
        (["search", "orders", "--filter", "[]"], "'[]' is not a JSON object"),
        (["mappings", "put", "orders", "f", "--filter", "{bad"], "character 2, 'b': expecting property name"),
        (["redrive", "orders", "--filter", '{"a": NaN}'], "not JSON: "),
        (["subscriptions", "create", "news", "--queue", "orders", "--filter", "{} {}"], "character 4, '{': extra data"),
    ],
)
def test_arguments_that_are_refused_say_what_is_wrong(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
