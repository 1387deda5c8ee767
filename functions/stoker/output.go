package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// The output formats of -o.
const (
	formatTable = "table"
	formatJSON  = "json"
)

// print writes a result: v as indented JSON with -o json, else what table writes into aligned columns.
func (a *app) print(v any, table func(w io.Writer)) error {
	switch a.output {
	case formatJSON:
		encoder := json.NewEncoder(a.stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	case formatTable:
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		table(w)
		return w.Flush()
	default:
		return usage(fmt.Errorf("-o %s: expected table or json", a.output))
	}
}

// row writes cells as one line of a table.
func row(w io.Writer, cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, cell)
	}
	fmt.Fprintln(w)
}
