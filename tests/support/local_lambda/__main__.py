"""Runs the functions that `sam build` built, with a new database unless DATABASE_URL is set.

make lambda                                        # builds and runs the functions
python -m tests.support.local_lambda --port 9324 --alb-port 9325 --most 10
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop

from penstock.settings import Settings
from penstock_web.http.http_server import HttpServer
from penstock_web.local.up import UpOptions, allow_loopback_webhooks, enable_console, prepare_database
from penstock_web.local_error import LocalError
from penstock_web.server import open_listening_socket

from .environment import RuntimeApi
from .fleet import Fleet, run_schedules
from .front import BALANCER, HTTP_API, FrontEnd, route_chooser, rule_chooser
from .idle_network import HOST, IdleNetwork, address_of, through
from .limits import IDLE_CONNECTION_SECONDS
from .template import Stack, TemplateError, read_balancer, read_stack

# The value in samconfig.toml. The environment variable QUEUE_ACCESS overrides the value.
PARAMETERS = {"Access": "off"}


@asynccontextmanager
async def serving(app: Any, port: int) -> AsyncIterator[int]:
    """Serves the application, and yields its port. With a `port` of 0, the system chooses a free port."""
    listener = open_listening_socket(HOST, port, reuse_port=False)
    server = HttpServer(app)
    await server.start(listener)
    try:
        yield listener.getsockname()[1]
    finally:
        await server.stop(0)


@asynccontextmanager
async def forgetful_network(database_url: str, options: argparse.Namespace) -> AsyncIterator[str]:
    """Yields the database's address for functions. The address belongs to a network that forgets idle connections."""
    target = None if options.idle_loss == "none" else address_of(database_url)
    if target is None:
        if options.idle_loss != "none":
            logging.warning(
                "the functions connect directly to the database, because its address excludes the simulated network"
            )
        yield database_url
        return
    listener = open_listening_socket(HOST, 0, reuse_port=False)
    port = listener.getsockname()[1]
    async with IdleNetwork(target, options.idle_loss, options.idle_seconds).running(listener):
        yield through(database_url, port)


async def run(settings: Settings, options: argparse.Namespace) -> None:
    """Serves until SIGINT or SIGTERM. Raises TemplateError."""
    async with forgetful_network(settings.database_url, options) as url:
        variables = function_variables(settings, os.environ) | {"DATABASE_URL": url}
        parameters = PARAMETERS | dict(options.parameter)
        await run_stack(read_stack(options.build, parameters, variables), options)


async def run_stack(stack: Stack, options: argparse.Namespace) -> None:
    runtime_api = RuntimeApi()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with serving(runtime_api.app, 0) as port:
        address = f"{HOST}:{port}"
        fleet = Fleet(stack.functions, runtime_api, address, options.python, options.most, options.recycle)
        http_api = FrontEnd(HTTP_API, route_chooser(stack.routes), fleet.invoke)
        rules, default = read_balancer(options.alb)
        balancer = FrontEnd(BALANCER, rule_chooser(rules, default), fleet.invoke)
        schedules = asyncio.create_task(run_schedules(stack.schedules, fleet.invoke, options.schedules_pause))
        try:
            async with serving(http_api.app, options.port) as at, serving(balancer.app, options.alb_port) as alb:
                print(f"lambda ready on http://{HOST}:{at}, as behind a load balancer on http://{HOST}:{alb}")
                print(f"{len(stack.functions)} functions, {len(stack.schedules)} of them scheduled", flush=True)
                await stopped.wait()
        finally:
            schedules.cancel()
            await fleet.close()


def absolute_path(text: str) -> Path:
    """Returns the absolute path, because functions run in other working folders."""
    return Path(text).absolute()


def name_and_value(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.local_lambda",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root = Path(__file__).parents[3]
    parser.add_argument(
        "--build", type=absolute_path, default=root / ".aws-sam/build", help="output folder of `sam build`"
    )
    parser.add_argument("--alb", type=Path, default=root / "infra/alb/template.yaml", help="the load balancer's rules")
    parser.add_argument("--python", type=Path, default=root / ".tools/lambda/bin/python", help="with awslambdaric")
    parser.add_argument("--port", type=int, default=9324, help="port of the HTTP API")
    parser.add_argument("--alb-port", type=int, default=9325, help="port of the load balancer")
    parser.add_argument(
        "--most", type=int, default=10, help="concurrency of the account, above which invocations are refused"
    )
    recycle = "number of invocations after which an execution environment is replaced; 0 means never"
    parser.add_argument("--recycle", type=int, default=1000, metavar="INVOCATIONS", help=recycle)
    parser.add_argument(
        "--idle-loss",
        choices=["reset", "silence", "none"],
        default="reset",
        help="effect on connections to the database that were idle for too long",
    )
    parser.add_argument(
        "--idle-seconds",
        type=float,
        default=IDLE_CONNECTION_SECONDS,
        help="time after which a connection is idle for too long",
    )
    parser.add_argument(
        "--parameter",
        type=name_and_value,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="parameter of the template, such as GatewayConcurrency=4; may be repeated",
    )
    pause = "seconds between two invocations of a scheduled function, instead of its rate"
    parser.add_argument("--schedules-pause", type=float, metavar="SECONDS", help=pause)
    parser.add_argument("--data-dir", type=absolute_path, help="folder of the database")
    parser.add_argument("--ephemeral", action="store_true", help="delete the database at the end")
    return parser.parse_args()


def function_variables(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the functions' variables from this process's settings, in addition to the template's variables and the
    database's address.
    """
    names = (name for name in environment if name.startswith(("QUEUE_", "WEBHOOK_", "SNS_", "LOG_LEVEL")))
    given = {name: environment[name] for name in names}
    console = enable_console(settings, UpOptions(HOST, 0)).queue_console
    return {"QUEUE_CONSOLE": console} | given | {"WEBHOOK_ALLOW_CIDRS": settings.webhook_allow_cidrs}


def main() -> int:
    """Runs the functions. Returns 2 if the build, a program or the database is missing."""
    options = parse_arguments()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        with ExitStack() as stack:
            up_options = UpOptions(HOST, options.port, state=options.data_dir, ephemeral=options.ephemeral)
            settings = Settings.read(os.environ)
            is_own = not settings.database_url
            settings, _, _ = prepare_database(settings, up_options, stack)
            if is_own:
                settings = allow_loopback_webhooks(settings, up_options)
            uvloop.run(run(settings, options))  # With asyncio, delayed TCP acknowledgements cost 40 ms.
    except (LocalError, OSError, TemplateError) as error:
        print(f"make lambda: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
