#!/usr/bin/env bash
# Builds the program with the versions in crates.lock, which is cargo's lock file with one line for each crate and
# without the registry's address. RECORD=1 rewrites crates.lock. Argument: the build folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=$1

command -v cargo >/dev/null || { echo "make clients needs Rust 1.94 or newer with cargo." >&2; exit 1; }
mkdir -p "$target"
# The removal prevents the tests from running an older build.
rm -f "$target/target/debug/penstock-client"
cp -r "$here/Cargo.toml" "$here/src" "$target"
cd "$target"
cargo generate-lockfile --quiet
if [ -n "${RECORD:-}" ]; then
  grep -v '^source = ' Cargo.lock | awk 'BEGIN { RS = ""; print "version = 4\npackage = [" }
    sub(/^\[\[package\]\]\n/, "") { gsub(/\[\n /, "["); gsub(/,\n\]/, "]"); gsub(/,\n/, ","); gsub(/\n/, ", "); print "  { " $0 " }," }
    END { print "]" }' >"$here/crates.lock"
fi
registry=$(grep -m 1 '^source = ' Cargo.lock)
sed "s|checksum = |$registry, checksum = |" "$here/crates.lock" >Cargo.lock
# cargo compares downloads with the lock file. One crate at a time leaves CPU to the machine's other users.
cargo build --quiet --locked --jobs 1
