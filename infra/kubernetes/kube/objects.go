package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

const manager = "test" // of fields that tests apply

// definitions are the files of modules that define the custom resources of the chart.
var definitions = map[string]string{
	"github.com/kedacore/keda/v2":                        "config/crd/bases/keda.sh_scaledjobs.yaml",
	"sigs.k8s.io/jobset":                                 "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
	"github.com/prometheus-operator/prometheus-operator": "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
}

// Define creates the custom resources, and the runtime class that the values of GPUs name.
func (s *Server) Define(ctx context.Context) error {
	for module, file := range definitions {
		dir, err := moduleDir(ctx, module)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		objects, err := Decode(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, object := range objects {
			if _, err := s.Create(ctx, "", object); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "nvidia"}, Handler: "nvidia"}
	if _, err := s.Kube.NodeV1().RuntimeClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, group := range []string{"keda.sh/v1alpha1", "jobset.x-k8s.io/v1alpha2", "monitoring.coreos.com/v1"} {
		if err := s.served(ctx, group); err != nil {
			return err
		}
	}
	s.mapper.Reset()
	return nil
}

// served waits until the server serves a group of custom resources.
func (s *Server) served(ctx context.Context, group string) error {
	return Poll(ctx, func() error {
		_, err := s.Kube.Discovery().ServerResourcesForGroupVersion(group)
		return err
	})
}

// Decode reads the objects of a file of YAML.
func Decode(text []byte) ([]*unstructured.Unstructured, error) {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var objects []*unstructured.Unstructured
	for {
		var text json.RawMessage
		err := documents.Decode(&text)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if text = bytes.TrimSpace(text); len(text) == 0 || string(text) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// At returns the client of an object's kind, in a namespace unless the kind has none.
func (s *Server) At(namespace string, kind schema.GroupVersionKind) (dynamic.ResourceInterface, error) {
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == "namespace" {
		return s.Dynamic.Resource(mapping.Resource).Namespace(namespace), nil
	}
	return s.Dynamic.Resource(mapping.Resource), nil
}

// Create creates an object. Fields that the server does not know are errors.
func (s *Server) Create(ctx context.Context, namespace string, object *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	client, err := s.At(namespace, object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return client.Create(ctx, object, metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun})
}

// Listable returns the resources of namespaces that can be listed. They are read once.
func (s *Server) Listable() ([]schema.GroupVersionResource, error) { return s.namespaced() }

func (s *Server) listable() (all []schema.GroupVersionResource, err error) {
	groups, err := s.Kube.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range group.APIResources {
			if slices.Contains(resource.Verbs, "list") {
				all = append(all, version.WithResource(resource.Name))
			}
		}
	}
	if len(all) < 20 {
		return nil, fmt.Errorf("the server has %d kinds of objects", len(all))
	}
	return all, nil
}

// Helm runs Helm as the administrator, and returns its output.
func (s *Server) Helm(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(s.binaries, "helm"), append(args, "--qps", "1000", "--burst-limit", "1000")...)
	cmd.Env = []string{"HOME=" + s.dir, "KUBECONFIG=" + s.kubeconfig, "HELM_DRIVER=configmap"}
	var out, warnings bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &warnings
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("helm %s: %w\n%s%s", strings.Join(args, " "), err, &out, &warnings)
	}
	return out.String(), err
}

// Poll repeats try until it succeeds, and returns its last error when ctx ends.
func Poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
