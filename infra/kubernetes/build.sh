#!/usr/bin/env bash
# build.sh FOLDER: builds etcd, kube-apiserver and Helm out of the modules that go.mod names. The first time takes some ten
# minutes of two processors. Helm compares the server's version with the chart's kubeVersion, so it is linked in.
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
go build -trimpath -ldflags "-s -w" -o "$out/helm" helm.sh/helm/v4/cmd/helm
go build -trimpath -ldflags "-s -w" -o "$out/etcd" go.etcd.io/etcd/server/v3
go build -trimpath -ldflags "-s -w $stamp" -o "$out/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver
