#!/usr/bin/env bash
# Checks that a release can be uploaded: `make publish`. Prints the obstacle and exits with 1 otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' layers/core/penstock/__init__.py)
[ -e "dist/penstock_queue-$version-py3-none-any.whl" ] || { echo "dist/ lacks the package of $version: run make dist" >&2; exit 1; }
[ -e "dist/penstock_worker-$version-py3-none-any.whl" ] || { echo "dist/ lacks penstock-worker $version: run make dist" >&2; exit 1; }
grep -Eq "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}, commit [0-9a-f]{7,40}$" CHANGELOG.md \
  || { echo "CHANGELOG.md lacks the date and commit of $version" >&2; exit 1; }
[ -n "${UV_PUBLISH_TOKEN:-}" ] || { echo "set UV_PUBLISH_TOKEN to a token of the package index" >&2; exit 1; }
