package skew

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

// withUnserved adds to labels the features that a schema file excludes from serving; "": there is
// no file.
func withUnserved(labels []string, path string) ([]string, error) {
	if path == "" {
		return labels, nil
	}
	schema, err := example.ReadSchema(path)
	if err != nil {
		return nil, err
	}
	const serving = "SERVING" // as the schemas of TFX's examples call it
	all, allErr := schema.Spec()
	served, servedErr := schema.EnvironmentSpec(serving)
	if !slices.Contains(schema.Environments(), serving) || allErr != nil || servedErr != nil {
		return labels, nil
	}
	for _, name := range all.Names() {
		if _, ok := served.Find(name); !ok {
			labels = append(slices.Clip(labels), name)
		}
	}
	return labels, nil
}

// probedRows is the number of raw rows that are transformed to find the features from which a label
// is computed.
const probedRows = 50

// namedLabels returns the raw features that hold the labels by which the module called them when it
// read its data. A raw feature of the same name is one. A transformed label is computed from the
// raw features that change only labels, when they are replaced by other rows' values; if the graph
// can't be executed, it is that of the raw feature with whose name it begins, if the model is not
// given that one.
func (c *check) namedLabels(ctx context.Context, raw []row) (names []string) {
	if c.data.memory == nil || len(raw) == 0 {
		return nil
	}
	var transformed []string
	for _, label := range c.data.memory.Labels {
		if slices.ContainsFunc(raw, func(r row) bool { return r.has(label) }) {
			names = append(names, label)
		} else {
			transformed = append(transformed, label)
		}
	}
	if len(transformed) == 0 {
		return names
	}
	made, err := onlyIn(ctx, c.question.TransformGraph, raw[:min(len(raw), probedRows)], transformed)
	if err != nil {
		c.question.Logger.Warn("what the label is made of is guessed by its name", "error", err)
		made = slices.DeleteFunc(rawNames(raw), c.data.memory.given)
	}
	for _, label := range transformed {
		begins := slices.DeleteFunc(slices.Clone(made), func(name string) bool { return !strings.HasPrefix(label, name) })
		switch {
		case len(begins) > 0: // the longest: trip_miles rather than trip
			names = append(names, slices.MaxFunc(begins, func(a, b string) int { return len(a) - len(b) }))
		case err == nil:
			names = append(names, made...)
		}
	}
	return names
}

// given reports whether the model in memory was given a feature whose name begins with name.
func (m *memory) given(name string) bool {
	return slices.ContainsFunc(m.rows, func(r memoryRow) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(r.features)), func(f string) bool { return strings.HasPrefix(f, name) })
	})
}

// rawNames returns the features of raw rows.
func rawNames(rows []row) []string {
	names := map[string]bool{}
	for _, r := range rows {
		for name := range r.features {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// onlyIn returns the raw features that change only transformed labels.
func onlyIn(ctx context.Context, dir string, rows []row, labels []string) (names []string, err error) {
	if dir == "" || len(rows) < 2 {
		return nil, errors.New("there is no transform graph, or there are too few rows")
	}
	g, err := transform.OpenWithin(ctx, dir, graph.Limits{})
	if err != nil {
		return nil, err
	}
	usual, err := runGraph(ctx, g, rows)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range g.Raw().Names() {
		changed := map[string]bool{}
		for range 3 {
			order := random.Perm(len(rows))
			other := make([]row, len(rows))
			for i, r := range rows {
				features := maps.Clone(r.features)
				delete(features, name)
				if f := rows[order[i]].features[name]; f != nil {
					features[name] = f
				}
				other[i] = row{features: features, lists: r.lists}
			}
			got, err := runGraph(ctx, g, other)
			if err != nil {
				return nil, err
			}
			for i := range got {
				for feature, v := range got[i] {
					if keyOfValues(v) != keyOfValues(usual[i][feature]) {
						changed[feature] = true
					}
				}
			}
		}
		if len(changed) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(changed)), func(f string) bool { return !slices.Contains(labels, f) }) {
			names = append(names, name)
		}
	}
	return names, nil
}

// transformedRows applies the transform graph to raw rows, and returns features by name, row by
// row.
func transformedRows(ctx context.Context, dir string, rows []row) ([]map[string]values, error) {
	if dir == "" {
		return nil, errors.New("there is no transform graph")
	}
	g, err := transform.OpenWithin(ctx, dir, graph.Limits{})
	if err != nil {
		return nil, err
	}
	var all []map[string]values
	const batch = 256
	for first := 0; first < len(rows); first += batch {
		part, err := runGraph(ctx, g, rows[first:min(first+batch, len(rows))])
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

func runGraph(ctx context.Context, g *transform.Graph, rows []row) ([]map[string]values, error) {
	var records [][]byte
	for _, r := range rows {
		text, err := r.request(nil)
		if err != nil {
			return nil, err
		}
		records = append(records, []byte(text))
	}
	raw, err := example.Parse(g.Raw(), records...)
	if err != nil {
		return nil, err
	}
	b, err := g.RunContext(ctx, raw, nil)
	if err != nil {
		return nil, err
	}
	all := make([]map[string]values, len(rows))
	for i := range all {
		all[i] = map[string]values{}
		for j := range b.Columns {
			all[i][b.Columns[j].Feature.Name] = cell(&b.Columns[j], i)
		}
	}
	return all, nil
}

// cell returns the values of a row in a column.
func cell(c *example.Column, row int) (v values) {
	from, to := c.Row(row)
	for i := from; i < to; i++ {
		switch c.Feature.Kind {
		case example.Float:
			v.floats = append(v.floats, float64(c.Floats[i]))
		case example.Int64:
			v.ints = append(v.ints, c.Ints[i])
		default:
			v.texts = append(v.texts, string(c.Bytes(i)))
		}
	}
	return v
}
