#!/usr/bin/env bash
# bare.sh ROOT PACKAGES... fills ROOT with the files of Debian 12's packages, without what they
# depend on and without running anything of theirs, and with the users that distroless has.
set -euo pipefail
root=$1
shift
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
chmod 755 "$packages" # apt reads and writes as a user of its own
mmdebstrap --quiet --variant=custom --mode=root --format=null bookworm /dev/null \
  --customize-hook="cd '$packages' && APT_CONFIG=\"\$MMDEBSTRAP_APT_CONFIG\" apt-get -o APT::Sandbox::User=root -qq download $*"

mkdir -p "$root"/{etc/ssl/certs,home/nonroot,proc,dev,sys,tmp,var/tmp}
for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$root"; done
rm -rf "$root"/usr/share/{doc,man,locale,lintian,bug}
printf '%s\n' root:x:0:0:root:/root:/sbin/nologin nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin >"$root/etc/passwd"
printf '%s\n' root:x:0: nogroup:x:65534: nonroot:x:65532: >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
cat "$root"/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
chmod 755 "$root"
chmod 1777 "$root"/tmp "$root"/var/tmp
