#!/usr/bin/env bash
# Writes the lock files again. dev.lock comes first: the other files have the same versions, so that any two files can
# be installed together. No lock file contains the address of an index, or a path of this machine.
set -euo pipefail
compile=("$UV" pip compile --quiet --universal --python-version 3.11 --generate-hashes
  --no-emit-index-url --no-emit-find-links --no-header --no-annotate "$@")
locks=requirements

"${compile[@]}" --extra dev --output-file $locks/dev.lock pyproject.toml
"${compile[@]}" --constraints $locks/dev.lock --output-file $locks/service.lock pyproject.toml
"${compile[@]}" --constraints $locks/dev.lock --extra tracing --output-file $locks/tracing.lock pyproject.toml
"${compile[@]}" --constraints $locks/dev.lock --extra metrics --output-file $locks/metrics.lock pyproject.toml
"${compile[@]}" --constraints $locks/dev.lock --constraints $locks/metrics.lock --extra iceberg --output-file $locks/iceberg.lock pyproject.toml
# An installation uses iceberg.lock together with metrics.lock, so iceberg.lock has only the packages that metrics.lock
# lacks.
awk 'NR == FNR { if (/^[a-z]/) known[$1]; next } /^[a-z]/ { keep = !($1 in known) } keep' \
  $locks/metrics.lock $locks/iceberg.lock > $locks/iceberg.lock.new
mv $locks/iceberg.lock.new $locks/iceberg.lock
for group in uv build tools ha lambda clients clients-old clients-frameworks clients-airflow; do
  "${compile[@]}" --group $group --output-file $locks/$group.lock
done
# Only developers install the clients, so these files omit the hashes for other platforms, which are four fifths of all.
for group in clients clients-old clients-frameworks clients-airflow; do
  "$UV" run --quiet --no-project --python '>=3.11' infra/local/narrow_lock.py "$UV" $locks/$group.lock "$@"
done
"${compile[@]}" --constraints $locks/dev.lock --group browser --output-file $locks/browser.lock

# Each Lambda layer has the packages that it imports, in the versions of service.lock. In `sam build`, pip compares the
# hashes of downloads for this machine. It downloads wheels for another processor by version.
for layer in core web expressions; do
  "${compile[@]}" --no-strip-extras --constraints $locks/service.lock \
    --output-file layers/$layer/requirements.txt layers/$layer/requirements.in
done

# With one line for each package, an update changes one line for each package.
perl -0pi -e 's/ \\\n +/ /g' $locks/*.lock layers/*/requirements.txt
