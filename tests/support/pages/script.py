"""Combines the blocks of a page into one bash script, so that exports and changes of a block affect the blocks below
it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.pages.blocks import Block

# `place` creates a file that the page describes. `start` runs a serving command, and returns when it is ready.
PRELUDE = """\
set -euo pipefail
trap 'for job in $(jobs -p); do kill "$job" 2>/dev/null || true; done; wait' EXIT
# PgBouncer refuses to run as root, and the unpacked one needs its libraries.
pgbouncer() {
    local user=(); [ "$(id -u)" != 0 ] || user=(-u nobody)
    LD_LIBRARY_PATH=$PGBOUNCER_LIBRARIES command pgbouncer "${user[@]}" "$@"
}
# A file of the page stays in the page's own folder: the folders of the checkout are links to the real ones.
place() {
    mkdir -p "$(dirname "$2")"
    case "$(cd "$(dirname "$2")" && pwd -P)/" in
    "$(pwd -P)"/*) cp "$1" "$2" ;;
    *) echo "$2 would be written into the checkout" >&2; return 1 ;;
    esac
}
start() {
    local log; log="$PAGE_FOLDER/service.log"
    [ -n "${DATABASE_URL:-}" ] || set -- "$@" --ephemeral
    "$@" >"$log" 2>&1 &
    for _ in $(seq 600); do
        if grep -q '^penstock ready' "$log"; then
            export DATABASE_URL="${DATABASE_URL:-$(sed -n 's/^database \\([^ ]*\\).*/\\1/p' "$log")}"
            cat "$log"
            return
        fi
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    cat "$log" >&2
    return 1
}
"""
_serves = re.compile(r"^((?:\w+=\S+ )*)(make run|penstock up)((?: [^#\n]*?)?)(?=\s*(?:#|$))", re.MULTILINE)
_port = re.compile(r"(?:(?<=127\.0\.0\.1:)|(?<=localhost:)|(?<=port )|(?<=port=)|(?<=port = ))\d{4,5}\b")
Ports = Callable[[str], int]


def starts_a_service(block: Block) -> bool:
    """Returns whether the block has a command that serves until its end is requested."""
    return block.is_run and block.language == "sh" and bool(_serves.search(block.text))


def moved(text: str, ports: Ports) -> str:
    """Returns the text with other ports in addresses of this machine."""
    return _port.sub(lambda found: str(ports(found[0])), text)


def _served(command: re.Match[str], ports: Ports) -> str:
    """Returns a command that runs in the background, at the page's port, and without persistent data."""
    variables, program, arguments = command.groups()
    more = "" if "--port" in arguments else f" --port {ports('9324')}"
    return f"{variables}start penstock up{'' if program == 'make run' else arguments}{more}"


def write_script(found: list[Block], folder: Path, ports: Ports) -> Path:
    """Writes a file for each block, and the script that runs them in order. The last line of `at` names the running
    block.
    """
    script = folder / "page.sh"
    script.write_text(PRELUDE + "".join(_steps(found, folder, ports)))
    return script


def _steps(found: list[Block], folder: Path, ports: Ports) -> Iterator[str]:
    for block in found:
        text = moved(block.text, ports)
        if block.kind == "file":
            (file := folder / block.line_name).write_text(text)
            yield f"place {file} {block.value}\n"
        elif block.is_run:
            if block.language == "sh":
                text = _serves.sub(lambda command: _served(command, ports), text)
            (file := folder / block.line_name).write_text(text)
            yield f'echo {block.place} >"$PAGE_FOLDER/at"\n{_command(block, file)} >{file}.out 2>&1\n'


def _command(block: Block, file: Path) -> str:
    if block.language == "sh":
        return f". {file}"
    if block.language == "sql":
        return f'psql -X -v ON_ERROR_STOP=1 "$DATABASE_URL" -f {file}'
    return (
        f"python -m pytest -q {file}"
        if re.search(r"^def test_", block.text, re.MULTILINE)
        else f"python {file}"
    )


def printed(block: Block, folder: Path) -> str:
    """Returns the output of the block so far, including standard error."""
    file = folder / f"{block.line_name}.out"
    return file.read_text() if file.exists() else ""


def missing_lines(excerpt: Block, output: str) -> list[str]:
    """Returns the lines of an excerpt that the output lacks, in this order. … stands for any text of a line."""
    rest, missing = iter(output.splitlines()), []
    for line in filter(str.strip, excerpt.text.splitlines()):
        pattern = re.compile(".*".join(map(re.escape, line.strip().split("…"))))
        if not any(pattern.fullmatch(other.strip()) for other in rest):
            missing.append(line)
    return missing
