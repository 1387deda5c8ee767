#!/usr/bin/env bash
# Fuzzes each target of this module: fuzz.sh TIME PROCESSES
# PROCESSES targets run at once, each for TIME. A package is linked once. What fails is said with FAILED, and the exit status is not 0.
set -euo pipefail
time=$1 processes=$2
binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT
kept=$(go env GOCACHE)/fuzz # where go test keeps the inputs that reached new code

# Prints a line for each target: the package's folder, its binary, the folder of its inputs, the target.
targets() {
  local package binary
  for package in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
    binary=$binaries/$(tr / _ <<< "$package")
    go test -c -fuzz=Fuzz -o "$binary" "$package"
    (cd "$package" && "$binary" -test.list '^Fuzz') | sed -n "s|^Fuzz|$package $binary $kept/$(go list "$package") &|p"
  done
}

# Runs one target. At the end of its time the testing package may say that the deadline was exceeded, although
# no input has failed (golang.org/issue/75804); such a target is run again.
fuzz() {
  local package=$1 binary=$2 inputs=$3 target=$4 output
  cd "$package"
  for _ in 1 2 3; do
    if output=$("$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.fuzzminimizetime 10x -test.fuzzcachedir "$inputs" -test.parallel 1 2>&1); then
      echo "ok $package $target: $(grep '^fuzz: elapsed' <<< "$output" | tail -n 1)"
      return
    fi
    grep -q '^ *context deadline exceeded$' <<< "$output" && ! grep -q 'Failing input' <<< "$output" || break
  done
  echo "$output"
  echo "FAILED: $package $target"
  return 1
}

export time
export -f fuzz
targets > "$binaries/targets"
xargs -P "$processes" -L 1 -a "$binaries/targets" bash -c 'fuzz "$@"' fuzz
