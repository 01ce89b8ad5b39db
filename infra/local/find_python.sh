#!/usr/bin/env bash
# Prints the interpreter for the virtual environments: the first suitable one with profile-guided optimisation, or else
# the first suitable one, in the order of the names below and of PATH. A suitable interpreter is Python 3.11 or newer
# with pip, which installs uv, outside virtual environments. Without a suitable interpreter, the script prints an error.
examine=${0%/*}/interpreter.py
plain=
for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
  while IFS= read -r path; do
    found=$("$path" "$examine" 2>/dev/null </dev/null) || continue
    # A call of pip takes longest, so the script calls only the best candidate's pip.
    if [[ $found == plain* && -n $plain ]]; then continue; fi
    "$path" -m pip --version >/dev/null 2>&1 </dev/null || continue
    if [[ $found == optimised* ]]; then
      echo "${found#* }"
      exit 0
    fi
    plain=${found#* }
  done < <(type -aP "$name")
done
if [[ -n $plain ]]; then
  echo "$plain"
  exit 0
fi
echo "Penstock needs Python 3.11 or newer with pip, outside a virtual environment. PATH has no such interpreter." \
  "Set PYTHON=/path/to/python3." >&2
exit 1
