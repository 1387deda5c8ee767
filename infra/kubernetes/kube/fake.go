package kube

import (
	"context"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fake is the label of nodes that KWOK plays, and their taint. Their pods run nothing.
const Fake = "kwok.x-k8s.io/fake"

// stages are those of KWOK in which a node is ready, and a pod runs until it is deleted.
var stages = []string{"node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml", "pod/fast/pod-ready.yaml", "pod/fast/pod-delete.yaml"}

// StartFakeNodes adds nodes that KWOK plays, with four processors and 16 GiB each.
func (s *Server) StartFakeNodes(ctx context.Context, count int) error {
	dir, err := moduleDir(ctx, "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	args := []string{"--kubeconfig", s.kubeconfig, "--manage-all-nodes=false", "--manage-nodes-with-label-selector", Fake + "=true", "--node-lease-duration-seconds", "40"}
	for _, stage := range stages {
		args = append(args, "--config", filepath.Join(dir, "kustomize/stage", stage))
	}
	if err := s.run("kwok", args...); err != nil {
		return err
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	for n := range count {
		name := fmt.Sprint("fake-", n)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{Fake: "true", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: Fake, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
			Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
		}
		if _, err := s.Kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return s.nodesReady(ctx, count, Fake+"=true")
}
