#!/usr/bin/env bash
# Searches the packages of images, layers and the metrics job for known vulnerabilities, in the package index or, with
# AUDIT_SERVICE=osv, in the database OSV. Fails after a finding, and without a response.
#
#   infra/local/audit.sh .tools/python/bin/pip-audit
set -euo pipefail
audit=$1
files=()
for lock in service tracing metrics iceberg build; do files+=(--requirement "requirements/$lock.lock"); done
log=$(mktemp)
trap 'rm -f "$log"' EXIT

status=0
"$audit" --strict --progress-spinner off --disable-pip --require-hashes --vulnerability-service "${AUDIT_SERVICE:-pypi}" \
  "${files[@]}" >"$log" 2>&1 || status=$?
if ((status)) && ! grep -q '^Found [0-9]' "$log"; then
  tail -n 1 "$log" >&2
  echo "make audit: the index or database did not respond for all packages, so nothing was audited" >&2
  exit 2
fi
cat "$log" >&2
exit "$status"
