#!/usr/bin/env bash
# Runs go with what the tag stoker_cuda needs, on a computer with or without a GPU: headers of CUDA, and a driver library to link with.
#   go.sh build -tags stoker_cuda ./functions/stoker-cuda
set -euo pipefail
here=$(dirname "$(realpath "$0")")
headers=$("$here/toolkit.sh" headers)
library=${headers%/include}/libcuda-$(sha256sum "$here/libcuda.sh" | cut -c1-12) # the same folder each time, for Go's build cache
[ -e "$library/libcuda.a" ] || "$here/libcuda.sh" "$headers" "$library"
export CGO_ENABLED=1 CGO_CFLAGS="-O2 -I$headers -Wno-deprecated-declarations" CGO_LDFLAGS="-L$library"
exec go "$@"
