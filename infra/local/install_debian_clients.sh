#!/usr/bin/env bash
# Installs PHP and Ruby with Debian's clients, Caddy and nginx for `make clients` if packages are missing. Without root,
# the script prints the missing packages, and the tests that need them fail.
set -euo pipefail
# Debian's release determines the versions, and apt checks the digests.
packages=(
  caddy
  nginx-light
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

# dpkg-query fails for missing packages.
states=$(dpkg-query --show --showformat '${db:Status-Status}\n' "${packages[@]}" 2>&1) || true
if ! command -v apt-get >/dev/null; then
  echo "make clients installs PHP, Ruby, Caddy and nginx from Debian. On this system, install them with the same libraries." >&2
elif grep -qv '^installed$' <<<"$states"; then
  if [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "${packages[@]}" >/dev/null
  else
    echo "make clients needs: sudo apt-get install --no-install-recommends ${packages[*]}" >&2
  fi
fi
