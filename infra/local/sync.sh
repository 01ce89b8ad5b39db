#!/usr/bin/env bash
# Installs exactly the packages of the given lock files into .venv, by hash, and then the project as editable.
set -euo pipefail
echo "installing into .venv: $*"
"$UV" pip sync --quiet --require-hashes "$@"
"$UV" pip install --quiet --no-deps --build-constraints requirements/build.lock --editable .
