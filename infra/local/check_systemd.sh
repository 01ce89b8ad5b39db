#!/usr/bin/env bash
# Checks infra/systemd and the drop-ins of docs/operate/systemd.md with systemd: every line is valid, and a compromised
# service can do little (docs/operate/metrics_job.md).
#
# Without systemd-analyze 250 or newer, as on macOS, the script prints a line and succeeds.
set -euo pipefail
cd "$(dirname "$0")/../.."
# The allowed exposure in tenths. A service without protection has 10.0. The units need the network and Unix sockets,
# and the JVM of the metrics job writes code.
declare -A most_exposed=([penstock.service]=15 [penstock@.service]=15 [penstock-metrics.service]=15)

version=$(systemd-analyze --version 2>/dev/null | awk 'NR == 1 { print int($2) }') || true
if [ "${version:-0}" -lt 250 ]; then
  echo "systemd-analyze 250 is missing: infra/systemd was not checked" >&2
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The units' programs must exist, so the copies name another program.
for unit in infra/systemd/*; do
  sed "s#/opt/penstock/bin/penstock#$(type -P true)#" "$unit" >"$work/${unit##*/}"
done
# systemd reads the drop-ins with the unit. Each is a block of the page, after a comment with the name of its file.
drop_ins=$work/penstock.service.d
mkdir "$drop_ins"
awk -v folder="$drop_ins" '/^<!-- file: .*\.conf -->$/ { name = $3 } /^```$/ { name = "" }
  name && !/^(<!--|```)/ { print >(folder "/" name) }' docs/operate/systemd.md
sed -i "s#/opt/penstock/bin/penstock#$(type -P true)#" "$drop_ins"/*.conf
# For an unknown line, systemd-analyze only prints a warning and succeeds.
if ! systemd-analyze verify "$work"/*.service "$work"/*.timer >"$work/said" 2>&1 || [ -s "$work/said" ]; then
  cat "$work/said" >&2
  exit 1
fi
for unit in "${!most_exposed[@]}"; do
  if ! systemd-analyze security --offline=true --no-pager --threshold="${most_exposed[$unit]}" "$work/$unit" >"$work/said" 2>&1; then
    grep -v '✓' "$work/said" >&2
    exit 1
  fi
  tail -1 "$work/said" | sed 's/^[^O]*//'
done
