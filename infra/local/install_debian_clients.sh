#!/usr/bin/env bash
# Installs the packages of Debian that requirements/clients-debian.txt names, if some are not there and it runs as root.
# Elsewhere it says what is missing, and the tests of PHP and Ruby fail.
set -euo pipefail
mapfile -t packages < <(grep -v '^#' requirements/clients-debian.txt)

if ! command -v apt-get >/dev/null; then
  echo "make clients takes PHP and Ruby from Debian: here their tests need php and ruby with the same libraries." >&2
elif dpkg-query --show --showformat '${db:Status-Status}\n' "${packages[@]}" 2>&1 | grep -qv '^installed$'; then
  if [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "${packages[@]}" >/dev/null
  else
    echo "make clients needs: sudo apt-get install --no-install-recommends ${packages[*]}" >&2
  fi
fi
