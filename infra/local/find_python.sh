#!/usr/bin/env bash
# Prints the interpreter for the virtual environments: the first suitable one that was built with profile-guided
# optimisation, else the first suitable one, by the names below and for each name by PATH. Suitable is Python 3.11 or
# newer with pip, which installs uv, outside of virtual environments. Without one, an error says what is missing.
examine=${0%/*}/interpreter.py
plain=
for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
  while IFS= read -r path; do
    found=$("$path" "$examine" 2>/dev/null </dev/null) || continue
    # Asking pip takes longest, so only the best candidate is asked.
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
echo "Penstock needs Python 3.11 or newer with pip, outside of a virtual environment; none was found on PATH." \
  "PYTHON=/path/to/python3 names one." >&2
exit 1
