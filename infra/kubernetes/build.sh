#!/usr/bin/env bash
# build.sh FOLDER [nodes]: builds etcd, kube-apiserver and Helm out of the modules that go.mod names; with nodes,
# all that a cluster of nodes runs. The first time takes some ten minutes of two processors, twenty with nodes. Helm
# compares the server's version with the chart's kubeVersion, so it is linked in.
set -euo pipefail
mkdir -p "$1"
out=$(realpath "$1")
cd "$(dirname "$0")"
go mod download github.com/kedacore/keda/v2 sigs.k8s.io/jobset github.com/prometheus-operator/prometheus-operator # definitions
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
at=k8s.io/component-base/version
stamp="-X $at.gitVersion=$version -X $at.gitMajor=$major -X $at.gitMinor=$minor -X $at.gitTreeState=clean"
export CGO_ENABLED=0
build() { go build -trimpath -ldflags "-s -w $stamp" -o "$out/$1" "$2"; }

build helm helm.sh/helm/v4/cmd/helm
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
if [ "${2:-}" != nodes ]; then exit; fi

for program in kube-controller-manager kube-scheduler kubelet kube-proxy; do build $program k8s.io/kubernetes/cmd/$program; done
for plugin in main/bridge main/loopback meta/portmap ipam/host-local; do
  build "cni/$(basename $plugin)" github.com/containernetworking/plugins/plugins/$plugin
done
build pause ./pause
build dial ./dial
build coredns github.com/coredns/coredns
build nats-server github.com/nats-io/nats-server/v2
build versitygw github.com/versity/versitygw/cmd/versitygw
build kwok sigs.k8s.io/kwok/cmd/kwok
build keda github.com/kedacore/keda/v2/cmd/operator
build keda-admission-webhooks github.com/kedacore/keda/v2/cmd/webhooks

# Each is built by its own go.mod: their dependencies are older. own PROGRAM MODULE VERSION PACKAGE
own() {
  if [ -e "$out/$1" ]; then return; fi
  local copy
  copy=$(mktemp -d)
  cp -r "$(go mod download -json "$2@$3" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')/." "$copy"
  chmod -R u+w "$copy"
  (cd "$copy" && go build -trimpath -ldflags "-s -w" -o "$out/$1" "$4")
  rm -r "$copy"
}
own jobset sigs.k8s.io/jobset "$(go list -m -f '{{.Version}}' sigs.k8s.io/jobset)" .
own kube-router github.com/cloudnativelabs/kube-router/v2 v2.1.0 ./cmd/kube-router

# containerd and runc are Debian's: runc links C libraries. They are unpacked, not installed.
if [ ! -e "$out/root/usr/bin/containerd" ]; then
  packages=$(mktemp -d)
  trap 'rm -rf "$packages"' EXIT
  fetch() {
    (cd "$packages" && apt-get -o APT::Sandbox::User=root -qq download containerd runc conntrack iptables ipset \
      libipset13 libseccomp2 libxtables12 libip4tc2 libip6tc2 libnftnl11 libmnl0 libnetfilter-conntrack3 libnfnetlink0)
  }
  fetch || { apt-get update -qq && fetch; }
  for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$out/root"; done
  for program in ip{,6}tables{,-save,-restore}; do # which an installation chooses among
    ln -s "${program/tables/tables-nft}" "$out/root/usr/sbin/$program"
  done
fi
