"""Implements the command line: `penstock up | migrate | doctor | keys | users | roles | queues | … | metrics | settings
| demo`.

Each module of commands/ has an `app`, a typer application with the module's commands. The modules beside commands/ have
the code that commands share. The top of a module of commands/ imports only typer, the settings and shared options. A
command imports its other modules when the command runs. `penstock up` therefore does not load boto3, and `penstock
settings` does not load a web framework.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Final

import typer

from penstock import __version__
from penstock.settings import SettingError
from penstock_web.local_error import LocalError

# The modules of commands/ by title, in the order of `penstock --help`.
MODULES: Final = {
    "Installation": ("up", "migrate", "doctor", "settings", "demo"),
    "Access": ("keys", "users", "roles"),
    "Queues": ("status", "ui", "top", "watch", "queues", "dead_letters"),
    "Topics and webhooks": ("topics", "webhooks", "deliveries"),
    "Event buses": ("buses", "api_destinations"),
    "Schedules": ("schedules",),
    "Functions": ("mappings",),
    "A file of all": ("manifest", "init"),
    "Metrics": ("metrics", "alerts", "files"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit code. Prints an expected error as one line on standard error and returns 1.
    Raises SystemExit with code 2 for invalid arguments.
    """
    try:
        code = int(_command().main(arguments, prog_name="penstock", standalone_mode=False) or 0)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # The program that reads the output, such as `head`, has ended.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (LocalError, SettingError) as error:
        _print_error(f"penstock: {error}")
        return 1
    except typer.TyperException as error:
        _print_error(_usage_error(error))
        sys.exit(error.exit_code)


def _print_error(text: str) -> None:
    """Prints an error. Escapes control characters from arguments, files and responses."""
    from .printing import print_lines

    print_lines(text.split("\n"), file=sys.stderr, style="red")


def application() -> typer.Typer:
    """Returns all commands. On a terminal, the library rich formats the help. In a file or a pipe, the help is plain
    text, even if FORCE_COLOR is set.
    """
    application = typer.Typer(
        callback=_global_options,
        help="SQS, SNS, schedules and an event bus on plain PostgreSQL.",
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
    )
    for title, names in MODULES.items():
        for name in names:
            app: typer.Typer = import_module(f".commands.{name}", __name__).app
            for command in app.registered_commands:
                command.rich_help_panel = title
                command.short_help = command.help  # click would cut it
            for group in app.registered_groups:
                group.rich_help_panel = title
            application.add_typer(app, rich_help_panel=title, short_help=app.info.help)
    return application


# Building the commands takes 30 ms.
_command: Final = cache(lambda: typer.main.get_command(application()))


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"penstock {__version__}")
        raise typer.Exit


def _global_options(
    version: Annotated[  # noqa: ARG001 - its callback does it
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="show the program's version number and exit"
        ),
    ] = False,
    region: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            envvar="PENSTOCK_REGION",
            show_default=False,
            help="region of the queues, topics and schedules (default: QUEUE_REGION of the service)",
        ),
    ] = None,
) -> None:
    """Applies the options that precede the command."""
    if region is not None:
        os.environ["PENSTOCK_REGION"] = region


def _usage_error(error: typer.TyperException) -> str:
    """Describes the command's usage and the error in the arguments."""
    context: typer.Context | None = getattr(error, "ctx", None)
    text = error.format_message()
    if isinstance(error, typer.BadParameter) and error.message:
        name = error.param_hint or (error.param.opts[0] if error.param else "")
        text = f"argument {name}: {error.message}"
    if context is None:
        return f"penstock: error: {text}"
    return f"{context.get_usage()}\n{context.command_path}: error: {text}"
