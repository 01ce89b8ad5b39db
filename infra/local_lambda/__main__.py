"""Runs the functions that `sam build` made, with a database of their own unless DATABASE_URL is set.

make lambda                                        # builds, then runs this
python -m infra.local_lambda --port 9324 --alb-port 9325 --most 10
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
from penstock_web.local.up import UpOptions, allow_loopback_webhooks, with_database
from penstock_web.server import listening_socket
from penstock_web.system_account import LocalError

from .balancer import read_balancer
from .fleet import Fleet
from .front import FrontEnd, route_chooser, rule_chooser
from .runtime_api import RuntimeApi
from .schedules import run_schedules
from .template import Stack, read_stack

HOST = "127.0.0.1"
# As in samconfig.toml. QUEUE_ACCESS of the environment goes before it, as do all variables of functions.
PARAMETERS = {"Access": "off"}


@asynccontextmanager
async def serving(app: Any, port: int) -> AsyncIterator[int]:
    """Serves the application, and yields its port. `port` 0: any free one."""
    listener = listening_socket(HOST, port, reuse_port=False)
    server = HttpServer(app)
    await server.start(listener)
    try:
        yield listener.getsockname()[1]
    finally:
        await server.stop(0)


async def run(stack: Stack, options: argparse.Namespace) -> None:
    """Serves until SIGINT or SIGTERM."""
    runtime_api = RuntimeApi()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with serving(runtime_api.app, 0) as port:
        fleet = Fleet(stack.functions, runtime_api, f"{HOST}:{port}", options.python, options.most)
        http_api = FrontEnd("http_api", route_chooser(stack.routes), fleet.invoke, failure_status=500)
        rules, default = read_balancer(options.alb)
        balancer = FrontEnd("alb_multi_value", rule_chooser(rules, default), fleet.invoke, failure_status=502)
        schedules = asyncio.create_task(run_schedules(stack.schedules, fleet.invoke, options.schedules_pause))
        try:
            async with (
                serving(http_api.app, options.port) as at,
                serving(balancer.app, options.alb_port) as alb,
            ):
                print(f"lambda ready on http://{HOST}:{at}, as behind a load balancer on http://{HOST}:{alb}")
                print(
                    f"{len(stack.functions)} functions, {len(stack.schedules)} of them scheduled", flush=True
                )
                await stopped.wait()
        finally:
            schedules.cancel()
            await fleet.close()


def absolute_path(text: str) -> Path:
    """The path as an absolute one, since the functions run in other working folders."""
    return Path(text).absolute()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.local_lambda", description=__doc__)
    root = Path(__file__).parents[2]
    parser.add_argument(
        "--build", type=absolute_path, default=root / ".aws-sam/build", help="what `sam build` made"
    )
    parser.add_argument(
        "--alb", type=Path, default=root / "infra/alb/template.yaml", help="the load balancer's rules"
    )
    parser.add_argument(
        "--python", type=Path, default=root / ".tools/lambda/bin/python", help="with awslambdaric"
    )
    parser.add_argument("--port", type=int, default=9324, help="of the HTTP API")
    parser.add_argument("--alb-port", type=int, default=9325, help="of the load balancer")
    parser.add_argument("--most", type=int, default=10, help="concurrency of the account")
    pause = "seconds between two invocations of a scheduled function, instead of its rate"
    parser.add_argument("--schedules-pause", type=float, metavar="SECONDS", help=pause)
    parser.add_argument("--ephemeral", action="store_true", help="forget the database at the end")
    return parser.parse_args()


def function_variables(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that functions get besides the template's: the database, and settings of this process."""
    names = (name for name in environment if name.startswith(("QUEUE_", "WEBHOOK_", "SNS_", "LOG_LEVEL")))
    given = {name: environment[name] for name in names}
    return given | {
        "DATABASE_URL": settings.database_url,
        "WEBHOOK_ALLOW_CIDRS": settings.webhook_allow_cidrs,
    }


def main() -> int:
    """Returns the exit code: 2 when the build, a program or the database is missing."""
    options = parse_arguments()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        with ExitStack() as stack:
            up_options = UpOptions(HOST, options.port, ephemeral=options.ephemeral)
            settings = Settings.read(os.environ)
            is_own = not settings.database_url
            settings, _ = with_database(settings, up_options, stack)
            if is_own:
                settings = allow_loopback_webhooks(settings, up_options)
            deployed = read_stack(options.build, PARAMETERS, function_variables(settings, os.environ))
            uvloop.run(run(deployed, options))  # with asyncio, delayed TCP acknowledgements cost 40 ms
    except (LocalError, OSError) as error:
        print(f"make lambda: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
