#!/usr/bin/env bash
# Prints the first interpreter that is new enough; with none, an error that says what is missing.
for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
  path=$(command -v "$name") || continue
  if "$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    exec "$path" -c 'import sys; print(sys.executable)'
  fi
done
echo "Penstock needs Python 3.11 or newer; none was found on PATH." >&2
exit 1
