#!/usr/bin/env bash
# Builds the core layer for ARM, the template's default, from its wheels. Fails if the layer is larger than the limit of
# compile_layer.sh. `sam build` builds a layer only for this machine's processor.
#
#   infra/local/check_arm_layer.sh .tools/bin/uv .tools/lambda/bin/python
set -euo pipefail
uv=$1
python=$2
build=.tools/arm-layer
version=$(sed -n 's/^    Default: python\(3\.[0-9]*\)$/\1/p' template.yaml)
rm -rf "$build"
mkdir -p "$build/WebLayer/python"
"$uv" pip install --quiet --python-platform aarch64-manylinux_2_28 --python-version "$version" --only-binary :all: \
  --no-deps --require-hashes --target "$build/CoreLayer/python" -r layers/core/requirements.txt
cp -R layers/core/penstock "$build/CoreLayer/python/"
compiled=$(infra/local/compile_layer.sh "$python" "$build")
echo "ARM: $compiled"
