"""Prints the modules that each function imports, a line for each function that is an argument.

    python -m tests.support.functions.imports sqs.send_message gateway

Each function starts in a fork that has imported only the driver psycopg, because this import takes longer than
everything else. The fork forgets the driver's modules, and remembers them when the function imports the driver.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

DRIVER = ("psycopg", "psycopg_binary")


class Driver(MetaPathFinder, Loader):
    """Finds the modules of the driver, which are all imported when the first is imported."""

    def __init__(self) -> None:
        import_module(DRIVER[0])
        self._modules = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] in DRIVER}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._modules:
            return None
        sys.modules.update(self._modules)
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        pass


def main(names: list[str]) -> None:
    sys.meta_path.insert(0, Driver())
    for name in names:
        if not os.fork():
            import_module(name)
            sys.stdout.write(f"{' '.join(sys.modules)}\n")
            sys.stdout.flush()
            os._exit(0)
        _, status = os.wait()
        if status:
            sys.exit(f"the import of {name} failed")


if __name__ == "__main__":
    main(sys.argv[1:])
