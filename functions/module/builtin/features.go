package builtin

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/transform"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/spelling"
)

// dataset is what the schema says of the examples: which features are learnt from, and which is to be predicted.
type dataset struct {
	spec        example.Spec // all of them, the label too
	inputs      []example.Feature
	label       example.Feature
	weight      example.Feature  // how much each row counts; without a name: all the same
	transformed bool             // what is learnt from went through the transform graph, before or here
	graph       string           // folder of the transform graph, "" for none
	ranged      map[string]bool  // raw numbers that are scaled by their range, not standardized
	raw         *transform.Graph // that raw examples go through here; nil if they are read as they are
}

// transformedSuffix is what TFX's examples end the names of transformed features with.
const transformedSuffix = "_xf"

func newDataset(c config, a module.Assignment) (dataset, error) {
	d := dataset{transformed: a.TransformGraphPath != "", graph: a.TransformGraphPath}
	path := a.SchemaPath
	switch {
	case a.PayloadFormat == module.PayloadSequenceExample:
		return d, fmt.Errorf("the examples are %s: builtin modules train on tables of tf.Examples only", a.PayloadFormat)
	case a.Transformed && d.graph == "":
		return d, fmt.Errorf("transformed examples need their transform graph, and there is none")
	case d.transformed:
		path = filepath.Join(d.graph, "transformed_metadata", "schema.pbtxt")
	case path == "":
		return d, fmt.Errorf("raw examples need a schema, and there is none: name one in the event (\"schema\": \"s3://bucket/folder\"), or with --schema of `stoker try`; `stoker schema infer EXAMPLES` writes one")
	}
	schema, err := example.ReadSchema(path)
	if err != nil {
		return d, err
	}
	if d.spec, err = schema.Spec(); err != nil {
		return d, err
	}
	if d.transformed && !a.Transformed {
		if err := d.transform(); err != nil {
			return d, err
		}
	}
	if err := d.choose(c); err != nil {
		return d, err
	}
	return d, d.normalize(c.normalizeConfig)
}

// choose takes the label, and what is left out, out of the features.
func (d *dataset) choose(c config) error {
	label := c.Label
	var ok bool
	if d.label, ok = d.spec.Find(label); !ok {
		d.label, ok = d.spec.Find(label + transformedSuffix)
	}
	switch candidates := strings.Join(d.spec.Names(), ", "); {
	case label == "":
		return fmt.Errorf("custom_config: label: missing, expected one of %s", candidates)
	case !ok:
		return fmt.Errorf("custom_config: label: the schema has no feature %q, expected one of %s%s", label, candidates, d.nearest(label))
	}
	if err := d.weigh(c.chosenConfig); err != nil {
		return err
	}
	if err := d.narrow(c.chosenConfig); err != nil {
		return err
	}
	d.inputs = slices.DeleteFunc(slices.Clone(d.spec), func(f example.Feature) bool { return f.Name == d.label.Name || f.Name == d.weight.Name })
	switch {
	case len(d.inputs) == 0 && len(c.ExcludeFeatures) > 0:
		return fmt.Errorf("custom_config: exclude_features: there is no other feature to learn from")
	case len(d.inputs) == 0:
		return fmt.Errorf("%w: there is no feature to learn from", example.ErrInput)
	}
	for _, f := range d.spec {
		if f.Sequence {
			return fmt.Errorf("feature %q is a sequence: builtin modules train on tables only", f.Name)
		}
	}
	return nil
}

// nearest suggests a feature for a label that is none: by its own name, or by that which it had before it was transformed.
func (d dataset) nearest(label string) string {
	names := d.spec.Names()
	for _, name := range d.spec.Names() {
		names = append(names, strings.TrimSuffix(name, transformedSuffix))
	}
	return spelling.Suggestion(label, names)
}

// labelNames are what the label, and the weight, may be called among the raw features: nobody has them who asks for a prediction.
func (d dataset) labelNames() []string {
	names := []string{d.label.Name, strings.TrimSuffix(d.label.Name, transformedSuffix)}
	if d.weight.Name != "" {
		names = append(names, d.weight.Name, strings.TrimSuffix(d.weight.Name, transformedSuffix))
	}
	return names
}

// width is how many places a row has for a feature.
func width(f example.Feature) int { return max(f.Size(), 1) }
