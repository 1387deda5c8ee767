#!/usr/bin/env bash
# targets.sh STORE TARGET... builds targets of the Containerfile, as they stand, with buildah, where
# no registry can be had: the images that they begin with are made here of Debian's packages and of
# this machine's Go, under the names that the Containerfile says.
#   infra/images/targets.sh /var/tmp/images python
#   buildah --root /var/tmp/images/kept --runroot /var/tmp/images/run push localhost/stoker:python oci:image
# It needs root, Debian 12 or newer, and mmdebstrap and buildah, which it installs. STORE grows to
# some 6 GB for python, and by far more for cuda.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
source=${SOURCE:-$(realpath "$here/../..")} # what is built
store=$(realpath -m "$1")
shift
mkdir -p "$store"
cd "$store"

need=()
command -v mmdebstrap >/dev/null || need+=(mmdebstrap)
command -v buildah >/dev/null || need+=(buildah)
install() { apt-get install -y --no-install-recommends "${need[@]}" >&2; }
[ ${#need[@]} -eq 0 ] || install || { apt-get update -q >&2 && install; }

buildah() { command buildah --root "$store/kept" --runroot "$store/run" --storage-driver overlay "$@"; }

# begins NAME TAR [FOLDER AT]... makes the image that a stage begins with, of a root's files and of
# folders of this machine.
begins() {
  local name=$1 tar=$2 container
  shift 2
  if buildah inspect --type image "$name" >/dev/null 2>&1; then return; fi
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$tar" / >/dev/null
  while [ $# -gt 0 ]; do
    buildah add --quiet "$container" "$1" "$2" >/dev/null
    shift 2
  done
  buildah config --env PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --env GOPATH=/go "$container"
  buildah commit --quiet --rm "$container" "$name" >/dev/null
}

# debian PACKAGES... is a root of a whole small Debian. It trusts whom this machine trusts, whose
# packages come through a proxy perhaps.
debian() {
  mmdebstrap --quiet --variant=minbase --include="$*" bookworm - \
    --customize-hook='for f in /usr/local/share/ca-certificates/*.crt; do [ ! -e "$f" ] || cp "$f" "$1/usr/local/share/ca-certificates"; done' \
    --customize-hook='[ ! -e "$1/usr/sbin/update-ca-certificates" ] || chroot "$1" update-ca-certificates >/dev/null' \
    --customize-hook='[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$1/etc"'
}

# bare PACKAGES... is a root of the files of these packages alone: no shell, no package manager,
# nothing that ran. As distroless is.
bare() {
  local root
  root=$(mktemp -d -p "$store")
  "$here/bare.sh" "$root" "$@"
  tar -C "$root" --owner=0 --group=0 --numeric-owner -c .
  rm -rf "$root"
}

make_bases() {
  local go
  go=$(sed -n 's/^ARG GO=//p' "$here/Containerfile")
  [ -e debian.tar ] || { debian ca-certificates >new.tar && mv new.tar debian.tar; }
  [ -e golang.tar ] || { debian ca-certificates g++ gcc git libc6-dev make pkg-config >new.tar && mv new.tar golang.tar; }
  [ -e static.tar ] || { bare ca-certificates netbase tzdata >new.tar && mv new.tar static.tar; }
  # shellcheck disable=SC2046 # words
  [ -e python3.tar ] || { bare $(grep -v '^#' "$here/python3.packages") >new.tar && mv new.tar python3.tar; }
  if ! go version | grep -qF "go$go "; then
    echo "targets.sh: the Containerfile builds with Go $go, and here is $(go version)" >&2
    exit 1
  fi
  begins docker.io/library/debian:bookworm-slim debian.tar
  begins "docker.io/library/golang:$go-bookworm" golang.tar "$(go env GOROOT)" /usr/local/go
  begins gcr.io/distroless/static-debian12:nonroot static.tar
  begins gcr.io/distroless/python3-debian12:nonroot python3.tar
}

make_bases
# The bases above are made here, and so have none of the digests that the Containerfile may name.
containerfile=$store/Containerfile
sed 's/^\(FROM [^ @]*\)@sha256:[0-9a-f]*/\1/' "$here/Containerfile" >"$containerfile"
for target in "$@"; do
  # Modules and what was compiled are this machine's own; the network too, since there is no other.
  buildah build --isolation chroot --network host --pull-never --file "$containerfile" --ignorefile "$here/Containerfile.dockerignore" --target "$target" --tag "localhost/stoker:$target" \
    --volume "$(go env GOMODCACHE):/go/pkg/mod" --volume "$(go env GOCACHE):/root/.cache/go-build" \
    --build-arg VERSION="${VERSION:-dev}" "$source" >&2
done
