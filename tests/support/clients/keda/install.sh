#!/usr/bin/env bash
# Builds the scaler of KEDA for SQS. Its package has scalers for some eighty systems, whose libraries would take an hour:
# a copy of KEDA's module keeps only this one. scaler.sum has the digest of that module, go.sum those of the libraries.
# Argument: the build folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=$1

command -v go >/dev/null || { echo "make clients needs Go 1.26 or newer." >&2; exit 1; }
export GOPATH=$here/../../../../.tools/clients/go CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off
GOPATH=$(realpath --canonicalize-missing "$GOPATH")
export GOMODCACHE=$GOPATH/pkg/mod GOCACHE=$GOPATH/cache GOFLAGS="-mod=readonly -modcacherw -buildvcs=false"

cd "$here"
module=$(GOFLAGS="$GOFLAGS -modfile=$here/scaler.mod" go mod download -json github.com/kedacore/keda/v2 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
rm -rf "$target"
mkdir -p "$target"
cp -r "$module" "$target/keda"
chmod -R u+w "$target/keda"
find "$target/keda/pkg/scalers" -maxdepth 1 -name '*.go' ! -name scaler.go ! -name aws_sqs_queue_scaler.go -delete
# Scalers share this constant, which is in the file of another one.
printf 'package scalers\n\nconst externalMetricType = "External"\n' >"$target/keda/pkg/scalers/constants.go"
cp main.go go.mod go.sum "$target"
cd "$target"
# One package at a time, for other users of the machine.
go build -p 1 -trimpath -o scaler .
