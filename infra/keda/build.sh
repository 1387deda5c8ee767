#!/usr/bin/env bash
# build.sh OUT: builds this program. KEDA's package of scalers holds more than a hundred of them
# with the libraries of every cloud: more than 20 minutes of work for a compiler. So KEDA's module
# is copied out of Go's module cache, where its hash was checked, and of that package only the two
# files are kept that the scaler of JetStream consists of. What is compiled is KEDA's own source,
# unchanged. STOKER_KEDA=whole compiles the whole package.
set -euo pipefail
cd "$(dirname "$0")"
out=$(realpath "$1")
if [ "${STOKER_KEDA:-}" = whole ]; then
  exec go build -o "$out" .
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
go mod download github.com/kedacore/keda/v2
cp -R "$(go list -m -f '{{.Dir}}' github.com/kedacore/keda/v2)" "$copy/keda"
chmod -R u+w "$copy/keda"
find "$copy/keda/pkg/scalers" -maxdepth 1 -name '*.go' ! -name scaler.go ! -name nats_jetstream_scaler.go -delete
cp go.mod go.sum "$copy"
go mod edit -replace "github.com/kedacore/keda/v2=$copy/keda" "$copy/go.mod"
go build -modfile "$copy/go.mod" -o "$out" .
