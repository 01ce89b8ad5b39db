#!/usr/bin/env bash
# Compiles the layers of `sam build` to bytecode. Lambda cannot store bytecode, because /opt is read-only. Without
# bytecode, each cold start compiles all imports, which doubles its time. Bytecode is the same for all processors, but
# belongs to one version of Python: pass the template's Runtime. Fails if the core layer is larger than 45 MB.
#
#   infra/local/compile_layer.sh python3.12 [.aws-sam/build]
set -euo pipefail
python=$1
build=${2:-.aws-sam/build}
layer=$build/CoreLayer/python
most=45000000

# Removes sources of compiled modules, unused parts of powertools, asn1crypto and packaging, lists of files, tests, the
# time zones of dateutil (penstock uses tzdata), and the compiler part of cffi: cryptography imports only the module
# _cffi_backend.
rm -rf "$layer/aws_lambda_powertools/event_handler" "$layer"/{cffi,pycparser}
rm -rf "$layer"/aws_lambda_powertools/utilities/{auth_alpha,batch,circuit_breaker,data_classes,data_masking}
rm -rf "$layer"/aws_lambda_powertools/utilities/{feature_flags,idempotency,kafka,parameters,parser,streaming,validation}
rm -rf "$layer"/asn1crypto/{cms,crl,csr,ocsp,pdf,pkcs12,tsp}.py "$layer/croniter/tests"
find "$layer" -path "$layer/packaging/*" ! -name __init__.py ! -name _structures.py ! -name version.py -prune \
  -exec rm -rf {} +
rm -f "$layer/dateutil/zoneinfo/dateutil-zoneinfo.tar.gz" "$layer"/*.dist-info/RECORD
find "$layer" -type f \( -name '*.c' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.pyi' \) -delete
find "$layer" "$build/WebLayer/python" -type d -name __pycache__ -prune -exec rm -rf {} +
packages=(penstock psycopg psycopg_binary msgspec typing_extensions.py pg8000 scramp asn1crypto dateutil six.py)
# Zip files do not keep the sources' times, so the bytecode must not depend on them.
"$python" -m compileall -q --invalidation-mode unchecked-hash "${packages[@]/#/$layer/}" "$build/WebLayer/python" >/dev/null
size=$("$python" -c 'import pathlib, sys
print(sum(file.stat().st_size for file in pathlib.Path(sys.argv[1]).rglob("*") if file.is_file()))' "$layer")
if ((size > most)); then
  echo "the core layer has $size bytes, more than $most" >&2
  exit 1
fi
echo "core layer: $((size / 1000000)) MB, compiled for $("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')"
