#!/usr/bin/env bash
# Fetches the libraries of a program for the JVM, compares them with jars.sha256, and compiles the program.
# Maven has no lock file, so jars.sha256 contains every library's name, version and digest. RECORD=1 rewrites it.
# Arguments: the program's folder beside this script, and the target folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$here/$1
target=$2

for tool in mvn javac; do
  command -v $tool >/dev/null || { echo "make clients needs a JDK of version 17 or newer and Maven; there is no $tool." >&2; exit 1; }
done
rm -rf "$target"
mkdir -p "$target/lib" "$target/classes"
mvn --batch-mode --quiet --file "$program/pom.xml" "-Dmaven.repo.local=$here/../../../../.tools/clients/maven" \
  org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies "-DoutputDirectory=$target/lib" \
  >"$target/maven.log" 2>&1 || { cat "$target/maven.log" >&2; exit 1; }
cd "$target/lib"
if [ -n "${RECORD:-}" ]; then
  LC_ALL=C sha256sum -- *.jar >"$program/jars.sha256"
fi
LC_ALL=C sha256sum -- *.jar | diff "$program/jars.sha256" - || { echo "Maven delivered other libraries than jars.sha256 lists." >&2; exit 1; }
shopt -s nullglob  # jdbc is only a library
javac -encoding UTF-8 -proc:none -cp "$target/lib/*" -d "$target/classes" "$program"/*.java "$here/Facts.java"
