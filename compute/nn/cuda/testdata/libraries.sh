#!/usr/bin/env bash
# Makes FOLDER/libcuda.so.1 and libcublas.so.13, whose GPU is this computer's processor, and prints FOLDER: libraries.sh FOLDER
set -euo pipefail
mkdir -p "$1"
out=$(realpath "$1")
cd "$(dirname "$0")"
g++ -std=c++17 -O1 -w -shared -fPIC -o "$out/libcuda.so.1" libcuda.cc
g++ -std=c++17 -O1 -shared -fPIC -o "$out/libcublas.so.13" libcublas.cc
echo "$out"
