#!/usr/bin/env bash
# Builds KEDA's SQS scaler. KEDA's package contains about eighty scalers, whose libraries would take an hour, so a copy of
# the module keeps only this scaler. scaler.sum contains the module's digest, and go.sum the libraries' digests.
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
# Another scaler's file defines this shared constant.
printf 'package scalers\n\nconst externalMetricType = "External"\n' >"$target/keda/pkg/scalers/constants.go"
cp main.go go.mod go.sum "$target"
cd "$target"
# One package at a time leaves CPU to the machine's other users.
go build -p 1 -trimpath -o scaler .
