"""Measures the cost of starting each function, which is the CPU time of the imports in the packages from `sam build`,
for each driver.

    infra/local/sam_build.sh .tools/python/bin/sam
    .venv/bin/python -m benchmarks.costs.cold_imports --repeat 9 --secret

With `--secret`, the import reads the function's secret with TLS from a Secrets Manager of this process, as on AWS.
Each import runs in a new interpreter that writes no bytecode, because layers on Lambda are read-only. The interpreter
does not use site-packages, because setuptools, which Lambda lacks, hooks itself into every import. The cost is the
minimum of the repeats, because other programs only increase the CPU. The median shows the load of the machine.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import yaml

from tests.support.functions.secrets_manager import secrets_manager

ROOT = Path(__file__).parents[2]
DRIVERS = ("psycopg", "pg8000")
SCRIPT = """
import sys, time
begun = time.process_time()
__import__(sys.argv[1])
print((time.process_time() - begun) * 1000, len(sys.modules))
"""


def functions(build: Path) -> Iterator[tuple[str, Path]]:
    """Yields the handler's module and the code folder of each function that uses only the core layer."""
    for resource in yaml.safe_load((build / "template.yaml").read_text())["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Serverless::Function" and "Layers" not in properties:
            yield properties["Handler"].removesuffix(".handler"), build / properties["CodeUri"]


def import_ms(python: Path, layer: Path, module: str, code: Path, variables: Mapping[str, str]) -> tuple[float, int]:
    """Returns the CPU time of one import in milliseconds, and the number of loaded modules."""
    result = subprocess.run(
        [python, "-S", "-c", SCRIPT, module],
        cwd=code,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{code}:{layer}", "PYTHONDONTWRITEBYTECODE": "1", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    milliseconds, modules = result.stdout.split()
    return float(milliseconds), int(modules)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.cold_imports", description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / ".aws-sam/build")
    parser.add_argument("--python", type=Path, default=ROOT / ".tools/lambda/bin/python")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--function", action="append", help="measure only this function, such as sqs.send_message")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--secret", action="store_true", help="functions have and read a secret")
    options = parser.parse_args()
    with ExitStack() as stack:
        variables: dict[str, str] = {}
        manager = stack.enter_context(secrets_manager())
        manager.store(DATABASE_URL="postgresql://penstock@127.0.0.1:6432/penstock")
        if options.secret:
            variables = {"QUEUE_SECRET": manager.name, **manager.variables}
        measure(options, variables)
        if options.secret and not manager.calls:
            raise SystemExit("No function has read the secret.")


def measure(options: argparse.Namespace, variables: Mapping[str, str]) -> None:
    """Prints a line for each function and driver, or JSON."""
    layer = options.build / "CoreLayer/python"
    found = []
    for module, code in functions(options.build):
        if options.function and module not in options.function:
            continue
        row: dict[str, object] = {"function": module}
        for driver in DRIVERS:
            given = {"QUEUE_DATABASE_DRIVER": driver, **variables}
            runs = [import_ms(options.python, layer, module, code, given) for _ in range(options.repeat)]
            times = [milliseconds for milliseconds, _ in runs]
            row[driver] = {"least_ms": min(times), "median_ms": median(times), "modules": runs[0][1]}
            if not options.json:
                print(f"{module:40} {driver:8} {min(times):6.0f} {median(times):6.0f} ms  {runs[0][1]:4} modules")
        found.append(row)
    if options.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
