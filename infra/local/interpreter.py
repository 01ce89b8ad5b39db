"""Prints how the present interpreter was built, if it suits the virtual environments.

    python3 infra/local/interpreter.py         # prints `optimised` or `plain`, and the interpreter's path

The program exits with 1 and prints nothing if the interpreter is too old or in a virtual environment. A much older
interpreter fails with an error, because it cannot parse this file.
"""

import shlex
import sys
import sysconfig

OLDEST = (3, 11)


def is_suitable() -> bool:
    """Returns whether the interpreter is new enough, and outside virtual environments, which often lack pip."""
    return sys.version_info >= OLDEST and sys.prefix == sys.base_prefix


def is_optimised() -> bool:
    """Returns whether the interpreter was built with profile-guided optimisation.

    The option is `--enable-optimizations` (https://docs.python.org/3/using/configure.html). Debian and Ubuntu run
    `make profile-opt` without the option (Debian's changelog, python3.8 3.8.0~b2-4). Their patch adds the installation
    scheme `deb_system`, which identifies their interpreters.
    """
    options = shlex.split(sysconfig.get_config_var("CONFIG_ARGS") or "")
    return "--enable-optimizations" in options or "deb_system" in sysconfig.get_scheme_names()


def main() -> int:
    """Prints the build and the path. Returns 1 for an unsuitable interpreter."""
    if not is_suitable():
        return 1
    sys.stdout.write(f"{'optimised' if is_optimised() else 'plain'} {sys.executable}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
