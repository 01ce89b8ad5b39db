#!/usr/bin/env bash
# Installs PHP and Ruby with Debian's clients for `make clients` if some are missing and it runs as root. Otherwise it says
# what is missing, and the tests of PHP and Ruby fail.
set -euo pipefail
# apt checks their digests; Debian's release determines the versions.
packages=(
  php-cli
  php-curl
  php-xml
  php-async-aws-sns
  php-async-aws-sqs
  php-symfony-amazon-sqs-messenger
  php-symfony-event-dispatcher
  ruby
  ruby-aws-sdk
)

# dpkg-query fails for packages that it does not know, which are the missing ones.
states=$(dpkg-query --show --showformat '${db:Status-Status}\n' "${packages[@]}" 2>&1) || true
if ! command -v apt-get >/dev/null; then
  echo "make clients takes PHP and Ruby from Debian: here their tests need php and ruby with the same libraries." >&2
elif grep -qv '^installed$' <<<"$states"; then
  if [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "${packages[@]}" >/dev/null
  else
    echo "make clients needs: sudo apt-get install --no-install-recommends ${packages[*]}" >&2
  fi
fi
