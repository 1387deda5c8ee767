#!/usr/bin/env bash
# pages.sh FOLDER VERSION TIME makes the other files of an archive: man pages and completions, by
# the program's own commands, and what has changed. TIME, in seconds, is that of the pages. The
# programs that a release needs itself go there too.
set -euo pipefail
folder=$1 version=$2
export SOURCE_DATE_EPOCH=$3 CGO_ENABLED=0 TZ=UTC
rm -rf "$folder"
mkdir -p "$folder/completions"
go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" -o "$folder/stoker" ./functions/stoker
go -C infra/release build -o "$(realpath "$folder")/stoker-release" .
"$folder/stoker" man "$folder/man" >/dev/null
for shell in bash zsh fish powershell; do
  "$folder/stoker" completion "$shell" >"$folder/completions/stoker.$shell"
done
"$folder/stoker-release" changes infra/changelog "$version" >"$folder/CHANGELOG.md"
