#!/usr/bin/env bash
# Remakes the lock files. dev comes first: the others may only use the versions that it chose, so that any two of
# them can be installed together. They contain neither an index address nor a path of this machine.
set -euo pipefail
compile=("$UV" pip compile --quiet --universal --python-version 3.11 --generate-hashes
  --no-emit-index-url --no-emit-find-links --no-header --no-annotate "$@")
locks=requirements

"${compile[@]}" --extra dev --output-file $locks/dev.lock pyproject.toml
"${compile[@]}" --constraints $locks/dev.lock --output-file $locks/service.lock pyproject.toml
"${compile[@]}" --constraints $locks/dev.lock --extra tracing --output-file $locks/tracing.lock pyproject.toml
"${compile[@]}" --constraints $locks/dev.lock --extra metrics --output-file $locks/metrics.lock pyproject.toml
"${compile[@]}" --constraints $locks/dev.lock --constraints $locks/metrics.lock --extra iceberg --output-file $locks/iceberg.lock pyproject.toml
# iceberg.lock has only the packages that metrics.lock lacks: both are installed together.
awk 'NR == FNR { if (/^[a-z]/) known[$1]; next } /^[a-z]/ { keep = !($1 in known) } keep' \
  $locks/metrics.lock $locks/iceberg.lock > $locks/iceberg.lock.new
mv $locks/iceberg.lock.new $locks/iceberg.lock
for group in uv build tools ha lambda clients clients-old clients-frameworks clients-airflow; do
  "${compile[@]}" --group $group --output-file $locks/$group.lock
done
# Only developers install the clients, so these locks lack the hashes for other platforms. They are a fifth as long.
for group in clients clients-old clients-frameworks clients-airflow; do
  "$UV" run --quiet --no-project --python '>=3.11' infra/local/narrow_lock.py "$UV" $locks/$group.lock "$@"
done
"${compile[@]}" --constraints $locks/dev.lock --group browser --output-file $locks/browser.lock

# Each Lambda layer names the packages it imports; the versions are those of the service. pip, as `sam build` calls it,
# compares hashes of downloads for this machine; it fetches wheels for another processor by version.
for layer in core web; do
  "${compile[@]}" --no-strip-extras --constraints $locks/service.lock \
    --output-file layers/$layer/requirements.txt layers/$layer/requirements.in
done

# A line per package, so that an update changes a line per package.
perl -0pi -e 's/ \\\n +/ /g' $locks/*.lock layers/*/requirements.txt
