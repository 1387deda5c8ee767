package builtin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// chosenConfig says which features are learnt from, and how.
type chosenConfig struct {
	Features        []string   `json:"features,omitempty"`
	ExcludeFeatures []string   `json:"exclude_features,omitempty"`
	Crosses         [][]string `json:"crosses,omitempty"`
	CrossBuckets    int        `json:"cross_buckets,omitempty"`
	WeightColumn    string     `json:"weight_column,omitempty"`
}

// defaultCrossBuckets is for one cross: more than are one-hot.
const defaultCrossBuckets = 1000

func (c *chosenConfig) check() error {
	if len(c.Features) > 0 && len(c.ExcludeFeatures) > 0 {
		return fmt.Errorf("custom_config: features and exclude_features: expected at most one of them")
	}
	if c.Features != nil && len(c.Features) == 0 {
		return fmt.Errorf("custom_config: features: expected one or more, got none; left out, all are learnt from")
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
			return fmt.Errorf("custom_config: crosses: %q stands there twice", cross)
		}
	}
	return nil
}

// crossPrefix begins the names of what belongs to crosses.
const crossPrefix = "crosses/"

// find is the feature of that name, or of that name with what Transform's examples end names with.
func (d dataset) find(name string) (example.Feature, bool) {
	if f, ok := d.spec.Find(name); ok {
		return f, true
	}
	return d.spec.Find(name + transformedSuffix)
}

// input is find for a feature of custom_config's key that is learnt from.
func (d dataset) input(key, name string) (example.Feature, error) {
	f, ok := d.find(name)
	switch {
	case !ok:
		return f, fmt.Errorf("custom_config: %s: there is no feature %q to learn from, expected some of %s%s", key, name,
			strings.Join(d.spec.Names(), ", "), d.nearest(name))
	case f.Name == d.label.Name:
		return f, fmt.Errorf("custom_config: %s: %q is the label", key, name)
	case f.Name == d.weight.Name:
		return f, fmt.Errorf("custom_config: %s: %q is the weight_column, and not learnt from", key, name)
	}
	return f, nil
}

// weigh finds the feature that says how much each row counts, which is not learnt from.
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

// narrow leaves out features that custom_config doesn't want: they are neither read nor looked at, whatever stands in them.
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

// crossed are the features of each cross, in the order in which they are given.
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
