// Package kube starts Kubernetes on one machine, for tests: its own programs, built by ../build.sh,
// in namespaces that end with the test.
//
//	Main             the namespaces, and the check that nothing is left of them
//	Start            etcd and kube-apiserver: enough for what the server itself checks
//	StartNodes       kube-controller-manager, kube-scheduler, and nodes
//	StartAddons      CoreDNS, KEDA and JobSet, in pods
//	StartFakeNodes   nodes that KWOK plays
//
// A node is a process with a network, mounts, processes, a host name and control groups of its own.
// In it run containerd, kubelet, kube-proxy and kube-router, with their files where a machine has
// them. All nodes share a bridge (network.go). Images are files that nodes import (images.go);
// nothing is pulled.
//
// What differs from a machine: control groups are of version 1, as build machines have them; the
// kubelet can't lower the OOM score of its containers; what the kubelet sets for the whole machine
// (vm.overcommit_memory, kernel.panic) it sets in files that nothing reads.
package kube
