"""Writes the generated files, or prints the files that differ. Usage: python -m infra.generate [--check]."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from penstock.actions import ACTIONS

from .blocks import MarkerError
from .files import find_differences, write_files
from .load_balancer import PriorityError

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str], root: Path = ROOT) -> int:
    parser = ArgumentParser(prog="python -m infra.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write no file; exit with 1 if a file differs")
    options = parser.parse_args(arguments)
    try:
        changed = find_differences(root, ACTIONS) if options.check else write_files(root, ACTIONS)
    except (MarkerError, PriorityError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for line in changed:
        print(line, file=sys.stderr)
    if changed and options.check:
        print("These files differ from the generated files, so run make generate.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
