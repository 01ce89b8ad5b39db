"""Implements `penstock apply | export | import` for the file penstock.yaml (docs/guides/penstock_file.md)."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from penstock.settings import Settings
from penstock_web.cli.options import Endpoint, Json, Yes
from penstock_web.local_error import LocalError

if TYPE_CHECKING:
    from penstock_web.cli.client import RestClient
    from penstock_web.manifest.changes import Change
    from penstock_web.manifest.endpoint import ManifestEndpoint as Service
    from penstock_web.manifest.model import Manifest
    from penstock_web.manifest.source import Source
    from penstock_web.manifest.users import UserStore

app = typer.Typer()

Region = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="region (default: the region of `penstock --region`, or else the service's)"),
]
SourceRegion = Annotated[
    str | None, typer.Option(metavar="NAME", help="region (default: AWS_REGION, AWS_DEFAULT_REGION, us-east-1)")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="write to this file (default: standard output)")
]
USUAL_FILE = Path("penstock.yaml")
SECONDS_TO_ASK = 5.0
"""The longest wait for a response about a queue, if the file has mistakes."""


@app.command("apply", help="make queues, topics, schedules and users match a file")
def apply(  # noqa: PLR0913, PLR0917 - options of the command
    file: Annotated[Path, typer.Option("--file", "-f", metavar="FILE", help="the file")] = USUAL_FILE,
    prune: Annotated[bool, typer.Option("--prune", help="also delete resources that are not in the file")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show the plan")] = False,
    yes: Yes = False,
    schema: Annotated[bool, typer.Option("--schema", help="only print the file's JSON Schema")] = False,
    endpoint: Endpoint = None,
    region: Region = None,
    account: Annotated[
        str | None, typer.Option("--account", metavar="ID", help="stop if the service uses another account")
    ] = None,
    json: Json = False,
) -> None:
    """Shows the plan, and makes the changes. On a terminal, first asks for confirmation."""
    import msgspec

    from penstock_web.manifest.changes import carry_out
    from penstock_web.manifest.model import json_schema
    from penstock_web.manifest.source import read_file

    if schema:
        print(msgspec.json.format(msgspec.json.encode(json_schema())).decode())
        return
    source = read_file(file)
    if source.mistakes:
        source.refuse(source.find_missing(_list_missing(source.list_outside_queues(), endpoint, region)))
    with ExitStack() as stack:
        plan = plan_changes(stack, source, endpoint, region, prune=prune)
        if account not in {None, plan.account}:
            raise LocalError(f"the plan is for the account {plan.account}, not for {account}")
        _print_plan(plan, json)
        if dry_run or not plan.changes:
            return
        if not yes and not _may(plan.changes):
            raise LocalError("nothing was changed")
        carry_out(plan.changes)
        _say(f"{len(plan.changes)} {'change' if len(plan.changes) == 1 else 'changes'} made", json)


def _print_plan(plan: Plan, json: bool) -> None:
    from penstock_web.cli.printing import print_json, print_lines

    _say(f"account {plan.account}, region {plan.region}:" if plan.changes else "nothing to do", json)
    for change in plan.changes:
        if json:
            print_json(change.document())
        else:
            print_lines(change.lines(), style={"+": "green", "~": "yellow", "-": "red"}[change.sign])


@app.command("export", help="write a running service's queues, topics and schedules to a file")
def export(output: Output = None, endpoint: Endpoint = None, region: Region = None) -> None:
    from penstock_web.cli.client import RestClient
    from penstock_web.manifest.current import portable, read_endpoint
    from penstock_web.manifest.endpoint import ManifestEndpoint as Service

    client = RestClient(endpoint, region=region)
    service = Service(client.endpoint, client.read_region())
    found = read_endpoint(service, client, _warn).manifest
    with ExitStack() as stack:
        if users := _open_users(stack, service):
            found.users = users.read()
    _write(portable(found, service), output)


@app.command("import", help="write the queues and topics of any SQS and SNS endpoint to a file")
def import_(
    source: Annotated[str, typer.Option("--from", metavar="URL", help="address of the endpoint, or aws")],
    output: Output = None,
    region: SourceRegion = None,
) -> None:
    """Reads queues and topics with the environment's credentials. Does not change the endpoint, and does not read
    messages.
    """
    from penstock_web.manifest.current import portable, read_endpoint
    from penstock_web.manifest.endpoint import ManifestEndpoint as Service

    if source != "aws" and not source.startswith(("http://", "https://")):
        raise LocalError(f"{source} is not an address such as http://127.0.0.1:4566, and not aws")
    region = region or find_usual_region()
    service = Service(None if source == "aws" else source, region)
    _write(portable(read_endpoint(service, None, _warn, strict=False).manifest, service), output)
    _warn(f"the file names no region: apply it with `penstock apply --region {region}`")


def _list_missing(names: set[str], endpoint: str | None, region: str | None) -> set[str]:
    """Returns the queues that the service does not have. Sends no request if `names` is empty. Returns an empty set if
    the service does not respond.
    """
    from penstock_web.cli.client import RestClient

    try:
        client = RestClient(endpoint, region=region, seconds=SECONDS_TO_ASK)
        return {name for name in sorted(names) if _is_missing(name, client)}
    except LocalError:
        return set()


def _is_missing(name: str, client: RestClient) -> bool:
    from penstock_web.cli.client import RefusedError, build_queue_path

    try:
        client.call("GET", build_queue_path(name))
    except RefusedError as error:
        return error.code == "queue_not_found"
    return False


class Plan(NamedTuple):
    """The changes that make the service match the file, and the account and region of the resources."""

    account: str
    region: str
    changes: list[Change]


def plan_changes(
    stack: ExitStack,
    source: Source,
    endpoint: str | None,
    region: str | None,
    *,
    prune: bool = False,
    settings: Settings | None = None,
) -> Plan:
    """Compares the service with the file. Raises LocalError for a failed request, for keys of different accounts, and
    for queues that neither the file nor the service has. `stack` closes the database after the changes. `settings`
    contain the database's address and default to the environment.
    """
    from penstock_web.cli.client import RestClient
    from penstock_web.manifest.current import read_endpoint
    from penstock_web.manifest.endpoint import ManifestEndpoint as Service
    from penstock_web.manifest.plan import Planner

    client = RestClient(endpoint, region=region)
    service = Service(client.endpoint, client.read_region())
    manifest, found = source.manifest, read_endpoint(service, client, lambda _: None)
    missing = source.list_outside_queues() - found.manifest.queues.keys()
    source.refuse([*source.find_missing(missing), *source.find_conflicts(found.manifest)])
    changes = list(Planner(manifest, found, service, client, prune).plan_changes())
    plan = Plan(service.references.account, service.references.region, changes)
    if not manifest.users:
        return plan
    users = _open_users(stack, service, settings)
    if users is None:
        raise LocalError(
            "the file has users. Set DATABASE_URL, because the command writes users directly to the database"
        )
    return plan._replace(changes=changes + list(users.plan_changes(manifest.users, prune=prune)))


def find_usual_region() -> str:
    """Returns the environment's region. Reads the variables that AWS's command line reads."""
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def _open_users(stack: ExitStack, service: Service, settings: Settings | None = None) -> UserStore | None:
    """Returns the user store of the configured database, or of the database that `penstock up` runs on this machine."""
    from penstock_web.cli.database import service_database
    from penstock_web.local.announced import list_running_services
    from penstock_web.local.chosen_database import choose_database
    from penstock_web.manifest.users import UserStore

    settings = settings or Settings.read(os.environ)
    if not settings.direct_url:
        folder = next((running.folder for running in list_running_services() if running.address == service.url), None)
        if folder is None:
            return None
        settings = settings.replace(database_url=choose_database(settings, folder))
    return UserStore(stack.enter_context(service_database(settings, direct=True)), service.references.account)


def _may(changes: list[Change]) -> bool:
    if not sys.stdin.isatty():
        if any(change.sign == "-" for change in changes):
            raise LocalError("nothing was changed: without a terminal, pass --yes to delete")
        return True
    return typer.confirm(f"make {len(changes)} changes?")


def _say(text: str, json: bool) -> None:
    if not json:
        print(text)


def _warn(text: str) -> None:
    from penstock_web.cli.printing import print_lines

    print_lines([f"penstock: {text}"], file=sys.stderr)


def _write(manifest: Manifest, output: Path | None) -> None:
    from penstock_web.manifest.source import write_manifest

    text = write_manifest(manifest)
    if output is None:
        print(text, end="")
        return
    try:
        output.write_text(text)
    except OSError as error:
        raise LocalError(f"{output} cannot be written: {error.strerror}") from None
