#!/usr/bin/env bash
# Installs Debian's Chromium for `make test-browser` if it is missing. Needs root, and otherwise prints what is missing.
# CHROMIUM is the path of another Chromium.
set -euo pipefail
chromium=${CHROMIUM:-/usr/bin/chromium}
if [ -x "$chromium" ]; then
  exit 0
elif command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends chromium fonts-dejavu-core >/dev/null
else
  echo "make test-browser needs Chromium: sudo apt-get install chromium, or CHROMIUM=PATH" >&2
  exit 1
fi
