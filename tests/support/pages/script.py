"""Reads the code blocks in README.md and docs/, and combines each page's blocks into one bash script.

In one script, a block's exports and changes affect the blocks below it. A block is fenced, and its language determines
its test:

    sh, python, sql           the tests run the block
    json, yaml, ini, toml     the tests parse the block
    text                      no test: a drawing, a grammar, an excerpt of output

A mark is a comment in the line before a block:

    <!-- not run: needs an AWS account -->      or `needs a Docker engine`, or `needs another vendor: NAME`
    <!-- run by: tests/system/operations/test_backup.py -->      another test runs the block
    <!-- file: penstock.yaml -->      the block is the content of a file for the blocks below it
    <!-- before: penstock create orders -->      the tests run this command first: a reader of the page has done so
    <!-- output -->             the output of the previous block contains these lines; … matches any text, and ids,
                                times with milliseconds and the widths of columns may differ
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
RUN = ("sh", "python", "sql")
PARSED = ("json", "yaml", "ini", "toml")
REASONS = re.compile(r"needs (?:an AWS account|a Docker engine|another vendor: \S.*)")

_fence = re.compile(r"^( *)```([\w-]*)$")
_mark = re.compile(r"^ *<!-- (not run|run by|file|output|before)(?:: (.+))? -->$")
_list_item = re.compile(r"(?:[-*]|\d+\.) ")
# An id fills a column of a table. The number of receives has fewer digits.
_varying = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z|(?:^|(?<=  ))\d{3,}(?=  )")


@dataclass(frozen=True)
class Block:
    """A fenced block. A mark has `kind` and `value`: ("not run", "needs a Docker engine")."""

    page: str
    line: int
    language: str
    text: str
    kind: str = ""
    value: str = ""

    @property
    def place(self) -> str:
        """Returns the page and line in the form that editors open."""
        return f"{self.page}:{self.line}"

    @property
    def line_name(self) -> str:
        """Returns the name of the file that contains the block's text during the run."""
        return f"line{self.line}.{self.language}" if self.language != "python" else f"test_line{self.line}.py"

    @property
    def is_run(self) -> bool:
        """Returns whether the page tests run the block themselves."""
        return self.language in RUN and self.kind in ("", "before")


def pages() -> list[str]:
    """Returns every page for users, as paths below the root."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def blocks(page: str) -> list[Block]:
    return list(_blocks(page, (ROOT / page).read_text().splitlines()))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    numbered = iter(enumerate(lines, 1))
    for number, line in numbered:
        if not (start := _fence.match(line)):
            continue
        content = []
        for _, inner in numbered:
            if inner.strip() == "```":
                break
            content.append(inner.removeprefix(start[1]))
        mark = _mark.match(lines[number - 2]) if number > 1 else None
        kind, value = (mark[1], mark[2] or "") if mark else ("", "")
        yield Block(page, number, start[2], "\n".join(content) + "\n", kind, value)


def unfenced(page: str) -> list[str]:
    """Returns the places of blocks that are indented instead of fenced."""
    found, above, fenced, was_blank = [], "", False, False
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        if _fence.match(line):
            fenced = not fenced
        elif not fenced and line.strip():
            depth = len(line) - len(line.lstrip())
            if depth >= 4 and was_blank and depth - _content_column(above) >= 4:
                found.append(f"{page}:{number}")
            elif depth == 0 or _list_item.match(line.lstrip()):
                above = line
        was_blank = not line.strip()
    return found


def items_in_paragraphs(page: str) -> list[str]:
    """Returns the places of list items that follow a paragraph without a blank line, so that the site shows the items
    as a part of the paragraph.
    """
    found, first, fenced = [], "", False
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        if _fence.match(line):
            fenced, first = not fenced, ""
        elif not line.strip():
            first = ""
        elif not fenced:
            first = first or line.lstrip()
            if _list_item.match(line.lstrip()) and not _list_item.match(first):
                found.append(f"{page}:{number}")
    return found


def _content_column(line: str) -> int:
    """Returns the column at which a list item's text begins, and 0 for other lines."""
    item = _list_item.match(line.lstrip())
    return len(line) - len(line.lstrip()) + item.end() if item else 0


# `place` creates a file that the page describes. `start` runs a server command, and returns when the server is ready.
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
    """Returns whether the block contains a command that runs until a signal."""
    return block.is_run and block.language == "sh" and bool(_serves.search(block.text))


def moved(text: str, ports: Ports) -> str:
    """Replaces ports in addresses of this machine."""
    return _port.sub(lambda found: str(ports(found[0])), text)


def _served(command: re.Match[str], ports: Ports) -> str:
    """Returns a command that runs in the background, at the page's port, and without persistent data."""
    variables, program, arguments = command.groups()
    arguments = arguments.rstrip("& ")
    more = "" if "--port" in arguments else f" --port {ports('9324')}"
    return f"{variables}start penstock up{'' if program == 'make run' else arguments}{more}"


def write_script(found: list[Block], folder: Path, ports: Ports) -> Path:
    """Writes a file for each block, and a script that runs the files in order. The last line of `at` names the running
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
                text = f"{block.value}\n{text}" if block.kind == "before" else text
            (file := folder / block.line_name).write_text(text)
            yield f'echo {block.place} >"$PAGE_FOLDER/at"\n{_command(block, file)} >{file}.out 2>&1\n'


def _command(block: Block, file: Path) -> str:
    if block.language == "sh":
        return f". {file}"
    if block.language == "sql":
        return f'psql -X -v ON_ERROR_STOP=1 "$DATABASE_URL" -f {file}'
    return f"python -m pytest -q {file}" if re.search(r"^def test_", block.text, re.MULTILINE) else f"python {file}"


def printed(block: Block, folder: Path) -> str:
    """Returns the block's output, including standard error."""
    file = folder / f"{block.line_name}.out"
    return file.read_text() if file.exists() else ""


def _masked(line: str) -> str:
    """Returns a line with the same word for all times and for all ids, and with two spaces between columns."""
    columns = re.sub(r" {2,}", "  ", line.strip())
    return _varying.sub(lambda found: "TIMEZ" if "T" in found[0] else "ID", columns)


def missing_lines(excerpt: Block, output: str) -> list[str]:
    """Returns the excerpt's lines that are missing from the output in this order. … matches any text in a line."""
    rest, missing = iter(output.splitlines()), []
    for line in filter(str.strip, excerpt.text.splitlines()):
        pattern = re.compile(".*".join(map(re.escape, _masked(line).split("…"))))
        if not any(pattern.fullmatch(_masked(other)) for other in rest):
            missing.append(line)
    return missing
