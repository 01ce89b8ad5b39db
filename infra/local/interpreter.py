"""Says whether the interpreter that runs this file suits the virtual environments, and how it was built.

    python3 infra/local/interpreter.py         # prints `optimised` or `plain`, and the interpreter's path

The program exits with 1 and prints nothing if the interpreter is too old or in a virtual environment. An interpreter
that cannot even read this file ends with an error, which means the same.
"""

import shlex
import sys
import sysconfig

OLDEST = (3, 11)


def is_suitable() -> bool:
    """Returns whether the interpreter is new enough and outside virtual environments, which may vanish and often lack
    pip.
    """
    return sys.version_info >= OLDEST and sys.prefix == sys.base_prefix


def is_optimised() -> bool:
    """Returns whether the interpreter was built with profile-guided optimisation.

    `--enable-optimizations` asks for that (https://docs.python.org/3/using/configure.html). Debian and Ubuntu run
    `make profile-opt` without that option (Debian's changelog, python3.8 3.8.0~b2-4), and sysconfig shows nothing of
    it: the installation scheme `deb_system`, which their patch adds, identifies their interpreters.
    """
    options = shlex.split(sysconfig.get_config_var("CONFIG_ARGS") or "")
    return "--enable-optimizations" in options or "deb_system" in sysconfig.get_scheme_names()


def main() -> int:
    """Prints the build and the path; returns 1 for an unsuitable interpreter."""
    if not is_suitable():
        return 1
    sys.stdout.write(f"{'optimised' if is_optimised() else 'plain'} {sys.executable}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
