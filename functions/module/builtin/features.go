package builtin

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/transform"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/module"
)

// dataset is the part of the schema that matters here: which features are inputs, and which is the
// label.
type dataset struct {
	spec        example.Spec // all of them, the label too
	inputs      []example.Feature
	label       example.Feature
	weight      example.Feature // weight of each row; without a name: all equal
	transformed bool            // the inputs went through the transform graph, before or here
	graph       string          // folder of the transform graph, "" for none
	ranged      map[string]bool // raw numbers that are scaled by their range, not standardized
	// For raw examples, which are transformed here; nil if they are read as they are.
	raw *transform.Graph
}

// transformedSuffix is the suffix of the names of transformed features in TFX's examples.
const transformedSuffix = "_xf"

func newDataset(c config, a module.Assignment) (dataset, error) {
	d := dataset{transformed: a.TransformGraphPath != "", graph: a.TransformGraphPath}
	path := a.SchemaPath
	switch {
	case a.PayloadFormat == module.PayloadSequenceExample:
		return d, fmt.Errorf("the examples are %s: builtin modules train on tables of tf.Examples only", a.PayloadFormat)
	case a.Transformed && d.graph == "":
		return d, fmt.Errorf("transformed examples need their transform graph, which is missing: name it in the event")
	case d.transformed:
		path = filepath.Join(d.graph, "transformed_metadata", "schema.pbtxt")
	case path == "":
		return d, fmt.Errorf("raw examples need a schema, which is missing: name one in the event (\"schema\": \"s3://bucket/folder\"), or with --schema of `stoker try`; `stoker schema infer EXAMPLES` writes one")
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

// choose removes the label and the excluded features from the inputs.
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

// nearest suggests a feature for an unknown label: by its own name, or by the name that it had
// before it was transformed.
func (d dataset) nearest(label string) string {
	names := d.spec.Names()
	for _, name := range d.spec.Names() {
		names = append(names, strings.TrimSuffix(name, transformedSuffix))
	}
	return spelling.Suggestion(label, names)
}

// labelNames returns the names of the label and the weight among the raw features: requests do not
// have them.
func (d dataset) labelNames() []string {
	names := []string{d.label.Name, strings.TrimSuffix(d.label.Name, transformedSuffix)}
	if d.weight.Name != "" {
		names = append(names, d.weight.Name, strings.TrimSuffix(d.weight.Name, transformedSuffix))
	}
	return names
}

// width returns how many values a row has for a feature.
func width(f example.Feature) int { return max(f.Size(), 1) }

// chosenConfig says which features are inputs, and how.
type chosenConfig struct {
	Features        []string   `json:"features,omitempty"`
	ExcludeFeatures []string   `json:"exclude_features,omitempty"`
	Crosses         [][]string `json:"crosses,omitempty"`
	CrossBuckets    int        `json:"cross_buckets,omitempty"`
	WeightColumn    string     `json:"weight_column,omitempty"`
}

// defaultCrossBuckets is the number for one cross: it is more than are one-hot encoded.
const defaultCrossBuckets = 1000

func (c *chosenConfig) check() error {
	if len(c.Features) > 0 && len(c.ExcludeFeatures) > 0 {
		return fmt.Errorf("custom_config: features and exclude_features: expected at most one of them")
	}
	if c.Features != nil && len(c.Features) == 0 {
		return fmt.Errorf("custom_config: features: expected one or more, got none; left out, all are used")
	}
	if c.CrossBuckets != 0 && len(c.Crosses) == 0 {
		return fmt.Errorf("custom_config: cross_buckets: there are no crosses")
	}
	if c.CrossBuckets < 0 || c.CrossBuckets > maxClasses {
		return fmt.Errorf("custom_config: cross_buckets: expected 1 to %d, got %d", maxClasses, c.CrossBuckets)
	}
	for i, cross := range c.Crosses {
		if len(cross) < 2 {
			return fmt.Errorf("custom_config: crosses: expected lists of two or more features, got %q", cross)
		}
		if slices.ContainsFunc(c.Crosses[:i], func(other []string) bool { return slices.Equal(other, cross) }) {
			return fmt.Errorf("custom_config: crosses: duplicate of %q", cross)
		}
	}
	return nil
}

// crossPrefix begins the names of the parts of crosses.
const crossPrefix = "crosses/"

// find returns the feature of that name, or of that name with the suffix of Transform's examples.
func (d dataset) find(name string) (example.Feature, bool) {
	if f, ok := d.spec.Find(name); ok {
		return f, true
	}
	return d.spec.Find(name + transformedSuffix)
}

// input is find for an input feature that custom_config names by key.
func (d dataset) input(key, name string) (example.Feature, error) {
	f, ok := d.find(name)
	switch {
	case !ok:
		return f, fmt.Errorf("custom_config: %s: there is no feature %q to learn from, expected some of %s%s", key, name,
			strings.Join(d.spec.Names(), ", "), d.nearest(name))
	case f.Name == d.label.Name:
		return f, fmt.Errorf("custom_config: %s: %q is the label", key, name)
	case f.Name == d.weight.Name:
		return f, fmt.Errorf("custom_config: %s: %q is the weight_column, and no input of the model", key, name)
	}
	return f, nil
}

// weigh finds the feature with the weight of each row, which is not an input.
func (d *dataset) weigh(c chosenConfig) error {
	if c.WeightColumn == "" {
		return nil
	}
	f, err := d.input("weight_column", c.WeightColumn)
	if err == nil && (f.Kind == example.Bytes || width(f) != 1) {
		err = fmt.Errorf("custom_config: weight_column: feature %q is no single number", f.Name)
	}
	d.weight = f
	return err
}

// narrow removes the features that custom_config excludes: they are not read, whatever their
// values.
func (d *dataset) narrow(c chosenConfig) error {
	key, list := "exclude_features", c.ExcludeFeatures
	if len(c.Features) > 0 {
		key, list = "features", c.Features
	}
	if len(list) == 0 {
		return nil
	}
	var names []string
	for _, name := range list {
		f, err := d.input(key, name)
		if err != nil {
			return err
		}
		names = append(names, f.Name)
	}
	d.spec = slices.DeleteFunc(slices.Clone(d.spec), func(f example.Feature) bool {
		return f.Name != d.label.Name && f.Name != d.weight.Name && slices.Contains(names, f.Name) == (key == "exclude_features")
	})
	return nil
}

// crossed returns the features of each cross, in the order given.
func (d dataset) crossed(c chosenConfig) ([][]example.Feature, error) {
	var all [][]example.Feature
	for _, names := range c.Crosses {
		var cross []example.Feature
		for _, name := range names {
			f, err := d.input("crosses", name)
			if err != nil {
				return nil, err
			}
			if f.Kind == example.Float {
				return nil, fmt.Errorf("custom_config: crosses: feature %q is a number with fractions, expected words or whole numbers", name)
			}
			cross = append(cross, f)
		}
		all = append(all, cross)
	}
	return all, nil
}

// normalizeConfig says how raw numbers are normalized. The constants are those of the train split
// and become part of the model.
type normalizeConfig struct {
	// A method, or an object of a method for some features.
	Normalize any `json:"normalize,omitempty"`
}

// The methods:
//
//	zscore: (x - mean) / standard deviation
//	minmax: (x - min) / (max - min)
const (
	zscore = "zscore"
	minmax = "minmax"
)

var normalizeMethods = []string{minmax, zscore}

func (c normalizeConfig) check() error {
	_, _, err := c.methods()
	return err
}

// methods returns the method of all features, zscore by default, and those of features by name.
func (c normalizeConfig) methods() (all string, of map[string]string, err error) {
	const expected = `custom_config: normalize: expected zscore, minmax, or an object of these by feature, like {"age": "minmax"}`
	switch given := c.Normalize.(type) {
	case nil:
		return zscore, nil, nil
	case string:
		if !slices.Contains(normalizeMethods, given) {
			return "", nil, fmt.Errorf("%s; got %q%s", expected, given, spelling.Suggestion(given, normalizeMethods))
		}
		return given, nil, nil
	case map[string]any:
		of = map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			method, _ := given[name].(string)
			if !slices.Contains(normalizeMethods, method) {
				return "", nil, fmt.Errorf("custom_config: normalize: feature %q: expected zscore or minmax, got %v", name, given[name])
			}
			of[name] = method
		}
		return zscore, of, nil
	}
	return "", nil, fmt.Errorf("%s; got %v", expected, c.Normalize)
}

// isNumber reports whether a feature is a quantity, which can be normalized.
func isNumber(f example.Feature) bool {
	return f.Kind == example.Float || f.Kind == example.Int64 && !f.Categorical
}

// normalize marks the features that are scaled by their range.
func (d *dataset) normalize(c normalizeConfig) error {
	if c.Normalize == nil {
		return nil
	}
	if d.transformed {
		return fmt.Errorf("custom_config: normalize: the transform graph says how numbers are scaled; normalize is for raw examples without one")
	}
	all, of, err := c.methods()
	if err != nil {
		return err
	}
	d.ranged = map[string]bool{}
	var numbers []string
	for _, f := range d.inputs {
		if isNumber(f) {
			numbers = append(numbers, f.Name)
			d.ranged[f.Name] = all == minmax
		}
	}
	if len(numbers) == 0 {
		return fmt.Errorf("custom_config: normalize: no input feature is a number")
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		f, err := d.input("normalize", name)
		if err != nil {
			return err
		}
		if !slices.Contains(numbers, f.Name) {
			return fmt.Errorf("custom_config: normalize: feature %q is not a numeric input, expected some of %s", name, strings.Join(numbers, ", "))
		}
		d.ranged[f.Name] = of[name] == minmax
	}
	return nil
}

// scaled normalizes a number by the method of its feature. NaN, which stands for a missing float,
// gets the value of the mean.
//
//	minmax: DropNaN((x - mean) / (max - min)) + (mean - min) / (max - min)
func (b networkBuilder) scaled(layer string, f example.Feature, x nn.Ref) nn.Ref {
	if !b.data.ranged[f.Name] {
		return b.fill(layer, f, b.standardized(layer, f, x))
	}
	var mean, scale, shift, one []float32
	for _, m := range b.survey.numbers[f.Name] {
		s := m.rangeScale()
		mean, scale, shift, one = append(mean, float32(m.mean)), append(scale, float32(s)), append(shift, float32((m.min-m.mean)*s)), append(one, 1)
	}
	return b.Normalize(layer+"/range", b.fill(layer, f, b.Normalize(layer, x, mean, scale)), shift, one)
}

// fill replaces NaN by 0.
func (b networkBuilder) fill(layer string, f example.Feature, x nn.Ref) nn.Ref {
	if f.Kind != example.Float {
		return x
	}
	return b.DropNaN(layer+"/fill", x)
}

// rangeScale returns 1 / (max - min); 0 if all numbers are the same in float32, or there are none,
// like scale.
func (m *moments) rangeScale() float64 {
	width := m.max - m.min
	if width <= 1e-7*max(math.Abs(m.min), math.Abs(m.max)) || width < math.SmallestNonzeroFloat32 {
		return 0
	}
	return 1 / width
}
