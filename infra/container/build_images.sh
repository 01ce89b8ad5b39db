#!/usr/bin/env bash
# Builds the images `penstock` and `penstock:alone` with buildah, without an engine or a registry: `make image`.
#
# debootstrap makes the base image, a Debian with Python. debootstrap and buildah need root. Releases have another base
# and use buildx (.github/workflows/release.yml). DEBIAN_MIRROR is debootstrap's argument. STORAGE_DRIVER replaces vfs.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "make image needs root: debootstrap makes a file system with devices and users" >&2; exit 1; }
for tool in buildah debootstrap; do
  command -v "$tool" >/dev/null || { echo "make image needs $tool: apt-get install $tool" >&2; exit 1; }
done
export STORAGE_DRIVER=${STORAGE_DRIVER:-vfs} BUILDAH_ISOLATION=chroot
base=localhost/penstock-debian
root=$PWD/.tools/image/debian

if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
  if [ ! -e "$root/complete" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >&2
    touch "$root/complete"
  fi
  container=$(buildah from scratch)
  buildah copy --quiet "$container" "$root" / >/dev/null
  buildah commit --quiet --rm "$container" "$base" >/dev/null
fi

# The builds use the machine's network settings, such as a proxy's authority or another index.
volumes=()
for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  [ ! -e "$file" ] || volumes+=(--volume "$file:$file:ro")
done

build() {
  buildah bud --quiet --layers --format docker --file infra/container/Dockerfile --build-arg BASE="$base" "${volumes[@]}" "$@" . >/dev/null
}
build --tag localhost/penstock
build --target alone --tag localhost/penstock:alone
buildah images --format '{{.Name}}:{{.Tag}} {{.Size}}' | grep '^localhost/penstock:'
