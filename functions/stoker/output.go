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

// checkOutput refuses an unknown format before anything is done.
func (a *app) checkOutput() error {
	if a.output != formatTable && a.output != formatJSON {
		return fmt.Errorf("-o %s: expected table or json", a.output)
	}
	return nil
}

// print writes a result: v as indented JSON with -o json, else what table writes into aligned columns.
func (a *app) print(v any, table func(w io.Writer)) error {
	if a.output == formatJSON {
		encoder := json.NewEncoder(a.stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	table(w)
	return w.Flush()
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
