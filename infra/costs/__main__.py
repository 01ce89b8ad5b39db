"""python -m infra.costs [--prices FILE]: print docs/costs.md, with the prices of a file."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from .inputs import PRICES, read_inputs
from .page import page


def main(arguments: list[str]) -> int:
    parser = ArgumentParser(prog="python -m infra.costs", description=__doc__)
    parser.add_argument("--prices", type=Path, default=PRICES, help="a file like infra/costs/prices.toml")
    sys.stdout.write(page(read_inputs(parser.parse_args(arguments).prices)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
