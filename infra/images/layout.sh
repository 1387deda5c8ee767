#!/usr/bin/env bash
# layout.sh TARGET FOLDER makes a target of the Containerfile, as targets.sh does, into an OCI layout.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
target=$1
mkdir -p "$2"
folder=$(realpath "$2")
store=$(mktemp -d -p /var/tmp stoker-images-XXXXXX) # not in memory
trap 'umount "$store/kept/overlay" 2>/dev/null || true; rm -rf "$store"' EXIT
"$here/targets.sh" "$store" "$target"
rm -rf "$folder"
buildah --root "$store/kept" --runroot "$store/run" --storage-driver overlay push --quiet "localhost/stoker:$target" "oci:$folder"
