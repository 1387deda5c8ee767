package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// definitions are the files of modules that define the custom resources of the chart.
var definitions = map[string][]string{
	"github.com/kedacore/keda/v2": {"config/crd/bases/keda.sh_scaledjobs.yaml"},
	"sigs.k8s.io/jobset":          {"config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"},
	"github.com/prometheus-operator/prometheus-operator": {
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
	},
}

// Schemas validate manifests.
type Schemas struct {
	custom map[gvk.GroupVersionKind]*apiextensions.JSONSchemaProps
}

// LoadSchemas reads the definitions of custom resources from the modules that go.mod names.
func LoadSchemas() (Schemas, error) {
	s := Schemas{map[gvk.GroupVersionKind]*apiextensions.JSONSchemaProps{}}
	for module, files := range definitions {
		out, err := exec.Command("go", "mod", "download", "-json", module).Output()
		if err != nil {
			return s, fmt.Errorf("go mod download %s: %w", module, err)
		}
		var downloaded struct{ Dir string }
		if err := json.Unmarshal(out, &downloaded); err != nil {
			return s, err
		}
		for _, file := range files {
			if err := s.define(filepath.Join(downloaded.Dir, file)); err != nil {
				return s, fmt.Errorf("%s: %s: %w", module, file, err)
			}
		}
	}
	return s, nil
}

func (s Schemas) define(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &definition); err != nil {
		return err
	}
	for _, version := range definition.Spec.Versions {
		var props apiextensions.JSONSchemaProps
		err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil)
		if err != nil {
			return err
		}
		s.custom[gvk.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}] = &props
	}
	return nil
}

// Check returns the faults of a manifest: an unknown kind, fields that are in no schema, and values
// that the schema rejects.
func (s Schemas) Check(o Object) error {
	kind := o.GroupVersionKind()
	if props, ok := s.custom[kind]; ok {
		return checkCustom(o, props)
	}
	typed, err := scheme.Scheme.New(kind)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(o.Text, typed)
}

// checkCustom validates a custom resource as an API server does. Unknown fields, which an API
// server prunes, are errors.
func checkCustom(o Object, props *apiextensions.JSONSchemaProps) error {
	structural, err := schema.NewStructural(props)
	if err != nil {
		return err
	}
	var wrong []error
	unknown := pruning.PruneWithOptions(runtime.DeepCopyJSON(o.Object), structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		wrong = append(wrong, fmt.Errorf("unknown fields: %s", strings.Join(unknown, ", ")))
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return err
	}
	for _, bad := range validation.ValidateCustomResource(nil, o.Object, validator) {
		wrong = append(wrong, bad)
	}
	return errors.Join(wrong...)
}
