#!/usr/bin/env bash
# Builds the functions and layers for this machine's Python and processor, into .aws-sam/build. The build shows that
# `sam build` accepts the template, and `make lambda` runs the functions. A build for AWS has the template's defaults.
set -euo pipefail
sam=$1
version=$(.tools/lambda/bin/python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
case $(uname -m) in
  x86_64) architecture=x86_64 ;;
  aarch64 | arm64) architecture=arm64 ;;
  *) echo "Lambda has no functions for $(uname -m)" >&2; exit 1 ;;
esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! PATH="$PWD/.tools/lambda/bin:$PATH" "$sam" build --parameter-overrides \
  "ParameterKey=Runtime,ParameterValue=$version ParameterKey=Architecture,ParameterValue=$architecture" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
echo "built for $version, $architecture: .aws-sam/build"
infra/local/compile_layer.sh .tools/lambda/bin/python
