#!/usr/bin/env bash
# Compiles the kernels to PTX, for any GPU from compute capability 7.5 (Turing) on: ptx.sh FILE
set -euo pipefail
out=$(realpath "$1")
cd "$(dirname "$0")"
"$(../toolkit.sh nvcc)/bin/nvcc" -ptx -O3 -arch=compute_75 all.cu -o "$out"
