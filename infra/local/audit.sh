#!/usr/bin/env bash
# Looks for known weaknesses in the packages of images, layers and the metrics job. The
# package index answers, or with AUDIT_SERVICE=osv the database OSV. Fails if it finds one, or without an answer.
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
  echo "make audit: no answer about every package, so nothing was audited: the data are on the internet" >&2
  exit 2
fi
cat "$log" >&2
exit "$status"
