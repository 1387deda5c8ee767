package kube

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

//go:embed manifests
var manifests embed.FS

// addons are the modules whose own Kustomize configuration is applied.
var addons = []struct{ module, folder string }{
	{"github.com/kedacore/keda/v2", "config/default"},
	{"sigs.k8s.io/jobset", "config/default"},
}

// StartAddons starts CoreDNS, KEDA and the controller of JobSets in pods, by their own manifests,
// with the images that nodes have.
func (s *Server) StartAddons(ctx context.Context) error {
	text, err := manifests.ReadFile("manifests/coredns.yaml")
	if err != nil {
		return err
	}
	if err := s.Apply(ctx, text); err != nil {
		return err
	}
	for _, addon := range addons {
		dir, err := moduleDir(ctx, addon.module)
		if err != nil {
			return err
		}
		options := krusty.MakeDefaultOptions()
		options.Reorder = krusty.ReorderOptionLegacy // namespaces come first
		resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, addon.folder))
		if err != nil {
			return fmt.Errorf("%s: %w", addon.module, err)
		}
		text, err := resources.AsYaml()
		if err != nil {
			return err
		}
		if err := s.Apply(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", addon.module, err)
		}
	}
	return s.Ready(ctx, "")
}

// moduleDir returns the folder of a module that go.mod names.
func moduleDir(ctx context.Context, module string) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("go list -m %s: %w", module, err)
	}
	return strings.TrimSpace(string(dir)), nil
}

// Apply creates the objects of a file in its order. Containers run the images that nodes have.
func (s *Server) Apply(ctx context.Context, text []byte) error {
	objects, err := Decode(text)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if strings.Contains(object.GetName(), "metrics-apiserver") || object.GetKind() == "APIService" {
			continue // KEDA's adapter for autoscalers of deployments: ScaledJobs need none
		}
		if err := useImages(object); err != nil {
			return err
		}
		if object.GetKind() == "CustomResourceDefinition" {
			defer s.mapper.Reset()
		}
		_, err := s.Create(ctx, object.GetNamespace(), object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// useImages names the images of a workload as nodes have them, and pulls none.
func useImages(object *unstructured.Unstructured) error {
	containers, found, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if err != nil || !found {
		return err
	}
	for _, one := range containers {
		container := one.(map[string]any)
		name, _, _ := strings.Cut(path.Base(container["image"].(string)), ":")
		if _, ok := images[name]; !ok {
			return fmt.Errorf("%s: no image %s", object.GetName(), name)
		}
		container["image"], container["imagePullPolicy"] = ImageName(name), "Never"
	}
	return unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
}

// Ready waits until all deployments and stateful sets of a namespace are available, or of all.
func (s *Server) Ready(ctx context.Context, namespace string) error {
	return s.poll(ctx, func() error {
		deployments, err := s.Kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		sets, err := s.Kube.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var missing error
		for _, d := range deployments.Items {
			missing = errors.Join(missing, available("deployment", d.ObjectMeta, d.Spec.Replicas, d.Status.AvailableReplicas))
		}
		for _, set := range sets.Items {
			missing = errors.Join(missing, available("stateful set", set.ObjectMeta, set.Spec.Replicas, set.Status.AvailableReplicas))
		}
		return missing
	})
}

func available(kind string, meta metav1.ObjectMeta, want *int32, have int32) error {
	if have == *want {
		return nil
	}
	return fmt.Errorf("%s %s/%s: %d of %d pods are available", kind, meta.Namespace, meta.Name, have, *want)
}

// poll repeats try until it succeeds. It returns its last error when ctx ends, and why a program of
// the cluster has ended if one has.
func (s *Server) poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case ended := <-s.ended:
			return ended
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
