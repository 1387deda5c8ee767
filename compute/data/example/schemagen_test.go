package example_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// schemaGen writes random schemas: most are valid, some have one or two faults.
type schemaGen struct {
	*rand.Rand
	strings.Builder
}

func randomSchema(seed uint64) string {
	g := &schemaGen{Rand: rand.New(rand.NewPCG(seed, 5))}
	names := g.some([]string{"a", "b", "c", "d", "e", "f", "g"}, 2)
	for _, name := range names {
		g.feature(name, g.IntN(4) == 0)
	}
	if g.rare(12) {
		g.feature(names[0], false) // a name twice
	}
	g.WriteString(`string_domain { name: "words" value: "x" value: "y" } `)
	g.maybe(3, `default_environment: "TRAINING" default_environment: "SERVING" `)
	g.maybe(5, `represent_variable_length_as_ragged: true `)
	for i := range g.IntN(3) {
		if g.rare(2) {
			g.sparseFeature(fmt.Sprint("sparse", i), names)
		}
	}
	steps := g.rare(4)
	if steps {
		g.structs()
	}
	if steps && !g.rare(5) || g.rare(2) {
		g.group(names, steps)
	}
	g.maybe(6, `tensor_representation_group { key: "other" value { tensor_representation { key: "t" value { dense_tensor { column_name: "none" } } } } } `)
	return g.String()
}

func (g *schemaGen) rare(n int) bool { return g.IntN(n) == 0 }

func (g *schemaGen) maybe(n int, text string) {
	if g.rare(n) {
		g.WriteString(text)
	}
}

func (g *schemaGen) one(of ...string) string { return of[g.IntN(len(of))] }

// some are at least min of names, in random order.
func (g *schemaGen) some(names []string, min int) []string {
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:min+g.IntN(len(names)-min+1)]
}

func (g *schemaGen) feature(name string, index bool) {
	fmt.Fprintf(g, `feature { name: %q `, name)
	kind := g.one("BYTES", "INT", "FLOAT")
	switch {
	case index:
		kind = "INT"
		g.WriteString(g.one(`int_domain { min: 0 max: 9 } `, `int_domain { min: 0 max: 9 } `, ``, ``, ``,
			`int_domain { min: 0 } `, `int_domain { max: 5 } `, `int_domain { min: 1 max: 5 } `))
	case g.rare(2):
		g.domain(kind)
	}
	if !g.rare(60) {
		fmt.Fprintf(g, `type: %s `, kind)
	}
	g.shape(index)
	g.maybe(8, `lifecycle_stage: `+g.one("UNKNOWN_STAGE", "PLANNED", "ALPHA", "BETA", "PRODUCTION", "DEPRECATED", "DEBUG_ONLY", "DISABLED", "VALIDATION_DERIVED")+" ")
	g.maybe(15, `deprecated: true `)
	g.maybe(6, `not_in_environment: "SERVING" `)
	g.maybe(6, `in_environment: "DEBUG" `)
	g.WriteString("} ")
}

func (g *schemaGen) shape(index bool) {
	always := `presence { min_fraction: 1.0 min_count: 1 } `
	switch {
	case index || g.rare(3):
		g.maybe(2, always)
	case g.rare(25):
		g.WriteString(`shape { dim { size: 1 } } presence { min_fraction: 0.5 } `)
	case g.rare(3):
		g.WriteString(g.one(`value_count { min: 1 max: 1 } `, `value_count { min: 0 max: 5 } `, `value_counts { value_count { min: 1 } value_count { max: 2 } } `))
	default:
		g.WriteString(always + g.one(`shape { } `, `shape { dim { size: 1 } } `, `shape { dim { size: 2 name: "n" } dim { size: 3 } } `, `shape { dim { } } `))
	}
}

func (g *schemaGen) domain(kind string) {
	switch kind {
	case "BYTES":
		g.WriteString(g.one(`domain: "words" `, `domain: "none" `, `string_domain { name: "w" value: "v" value: "" } `))
	case "INT":
		g.WriteString(g.one(`int_domain { min: -3 max: 3 } `, `int_domain { is_categorical: true } `, `int_domain { max: 7 } `, `bool_domain { } `))
	default:
		g.WriteString(`float_domain { min: -1 max: inf } `)
	}
}

func (g *schemaGen) sparseFeature(name string, features []string) {
	fmt.Fprintf(g, `sparse_feature { name: %q `, name)
	parts := g.some(append([]string{"none"}, features...)[min(1, g.IntN(6)):], 2)
	for _, index := range parts[:len(parts)-1] {
		fmt.Fprintf(g, `index_feature { name: %q } `, index)
	}
	fmt.Fprintf(g, `value_feature { name: %q } `, parts[len(parts)-1])
	g.maybe(2, `is_sorted: `+g.one("true", "false")+" ")
	g.maybe(8, `lifecycle_stage: DISABLED `)
	g.maybe(8, `deprecated: true `)
	g.WriteString("} ")
}

// structs writes the features of feature_lists.
func (g *schemaGen) structs() {
	g.WriteString(`feature { name: "##SEQUENCE##" type: STRUCT struct_domain { `)
	for _, name := range []string{"s", "t", "a"} {
		g.feature(name, false)
	}
	g.maybe(15, `feature { name: "deep" type: STRUCT struct_domain { feature { name: "x" type: INT } } } `)
	g.maybe(15, `sparse_feature { name: "sp" } `)
	g.WriteString("} } ")
}

// group writes the default group of tensor representations.
func (g *schemaGen) group(names []string, steps bool) {
	g.WriteString(`tensor_representation_group { key: "" value { `)
	for i, name := range names {
		if g.rare(3) {
			continue
		}
		fmt.Fprintf(g, `tensor_representation { key: %q value { %s } } `, g.one(name, fmt.Sprint("t", i)), g.representation(name, names))
	}
	if steps {
		for _, name := range []string{"s", "t", "a"} {
			path := fmt.Sprintf(`step: "##SEQUENCE##" step: %q`, name)
			if g.rare(20) {
				path += ` step: "x"`
			}
			fmt.Fprintf(g, `tensor_representation { key: "steps_%s" value { ragged_tensor { feature_path { %s } %s} } } `, name, path, g.partitions([]string{"t"}))
		}
	}
	g.WriteString("} } ")
}

func (g *schemaGen) representation(name string, names []string) string {
	if g.rare(40) {
		return g.one(``, `ragged_tensor { feature_path { } } `, `dense_tensor { column_name: "none" } `)
	}
	switch g.IntN(4) {
	case 0:
		shape := g.one(`shape { } `, `shape { dim { size: 2 } } `, ``)
		return fmt.Sprintf(`dense_tensor { column_name: %q %s%s} `, name, shape, g.one(``, ``, ``, `default_value { int_value: -5 } `, `default_value { float_value: 0.1 } `,
			`default_value { bytes_value: "w\377" } `, `default_value { bytes_value: "" } `))
	case 1:
		return fmt.Sprintf(`varlen_sparse_tensor { column_name: %q } `, name)
	case 2:
		return fmt.Sprintf(`sparse_tensor { dense_shape { dim { size: 10 } } index_column_names: %q value_column_name: %q %s} `, g.one(names...), name,
			g.one(``, `already_sorted: true `))
	}
	return fmt.Sprintf(`ragged_tensor { feature_path { step: %q } %s} `, name, g.partitions(names))
}

func (g *schemaGen) partitions(names []string) string {
	text := g.one(``, `row_partition_dtype: INT32 `, `row_partition_dtype: INT64 `)
	for range g.IntN(3) {
		text += g.one(`partition { uniform_row_length: 2 } `, fmt.Sprintf(`partition { row_length: %q } `, g.one(names...)))
	}
	if g.rare(40) {
		text += `partition { } `
	}
	return text
}
