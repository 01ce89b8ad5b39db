#!/usr/bin/env bash
# Prints the interpreter for the virtual environments: python3, or else the newest python3.N on PATH, or else the one that
# uv finds. It is Python 3.11 or newer, and has pip unless uv is on PATH, because pip installs uv.
module=pip
if command -v uv >/dev/null; then module=sys; fi
for name in python3 python3.{30..11}; do
  while IFS= read -r python; do # a virtual environment without pip may come before the interpreter of the system
    found=$("$python" -c "import sys, $module; print(sys.executable if sys.version_info >= (3, 11) else '')" \
      2>/dev/null </dev/null) || continue
    if [[ -n $found ]]; then
      echo "$found"
      exit
    fi
  done < <(type -aP "$name")
done
if uv python find '>=3.11' 2>/dev/null; then exit; fi
echo "Penstock needs Python 3.11 or newer with pip, and PATH has none. PYTHON=/path/to/python3 names one." >&2
exit 1
