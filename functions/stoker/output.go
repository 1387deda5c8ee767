package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/goccy/go-yaml"

	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// The output formats of -o.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatYAML  = "yaml"
)

// formats are those that there are.
func formats() []string { return []string{formatTable, formatJSON, formatYAML} }

// checkOutput refuses an unknown format.
func checkOutput(format settings.Value) error {
	if slices.Contains(formats(), format.Text) {
		return nil
	}
	named := "-o"
	if format.From != "--output" {
		named = format.From + ": output:"
	}
	return exit.Usage(fmt.Errorf("%s %s: expected table, json or yaml", named, format.Text))
}

// forPrograms says whether results are read by programs.
func (a *app) forPrograms() bool { return a.output == formatJSON || a.output == formatYAML }

// print writes a result: v as indented JSON with -o json, the same as YAML with -o yaml, else what table writes into aligned columns.
func (a *app) print(v any, table func(w io.Writer)) error {
	switch a.output {
	case formatJSON:
		encoder := json.NewEncoder(a.stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	case formatYAML:
		return a.printYAML(v)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	table(w)
	return w.Flush()
}

// printYAML goes by way of JSON, so that names and order of what is printed are the same.
func (a *app) printYAML(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return err
	}
	_, err = a.stdout.Write(text)
	return err
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
