#!/usr/bin/env bash
# Makes .venv hold exactly what the given lock files name, by hash, and then the project itself in place.
set -euo pipefail
echo "installing into .venv: $*"
"$UV" pip sync --quiet --require-hashes "$@"
"$UV" pip install --quiet --no-deps --build-constraints requirements/build.lock --editable .
