#!/usr/bin/env bash
# Asks systemd about infra/systemd (docs/operate/systemd.md, docs/operate/metrics_job.md): whether every line is valid, and how much a
# compromised service could do.
#
# Without systemd-analyze (250 or newer), as on macOS, this says so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Tenths; 10.0 is a service without any protection. The units use the network and Unix sockets, and the JVM of the metrics job
# writes code.
declare -A most_exposed=([penstock.service]=15 [penstock-metrics.service]=15)

version=$(systemd-analyze --version 2>/dev/null | awk 'NR == 1 { print int($2) }') || true
if [ "${version:-0}" -lt 250 ]; then
  echo "there is no systemd-analyze 250: infra/systemd was not checked" >&2
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The programs that the units start must exist: any other program will do.
for unit in infra/systemd/*; do
  sed "s#/opt/penstock/bin/penstock#$(type -P true)#" "$unit" >"$work/${unit##*/}"
done
# Unknown lines are only warnings of a successful check.
if ! systemd-analyze verify "$work"/penstock* >"$work/said" 2>&1 || [ -s "$work/said" ]; then
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
