#!/usr/bin/env bash
# vendor.sh [keep]: fetches the chart library from npm, by the version that stands below, and compares it with what is kept in static;
# with keep, that is replaced. npm checks the package's hash against that of its registry; the one below is what was looked at.
set -euo pipefail
cd "$(dirname "$0")/static"
version=1.6.32
integrity=sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && npm pack --silent "uplot@$version" >/dev/null)
got=sha512-$(openssl dgst -sha512 -binary "$dir/uplot-$version.tgz" | base64 -w0)
if [ "$got" != "$integrity" ]; then
  echo "uplot $version: npm brought $got, expected $integrity" >&2
  exit 1
fi
tar -xzf "$dir/uplot-$version.tgz" -C "$dir"
for file in dist/uPlot.iife.min.js:uPlot.iife.min.js dist/uPlot.min.css:uPlot.min.css LICENSE:uPlot.LICENSE; do
  if [ "${1:-}" = keep ]; then
    cp "$dir/package/${file%%:*}" "${file##*:}"
  fi
  cmp "$dir/package/${file%%:*}" "${file##*:}"
done
echo "uPlot $version is what npm has"
