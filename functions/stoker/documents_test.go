package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// documented is a command's description of the document that it prints.
type documented struct {
	command           []string
	list              bool
	always, sometimes []string
}

// allDocumented returns the descriptions of all commands with an Output.
func allDocumented() (all []documented) {
	for _, cmd := range app.AllCommands(testRoot()) {
		if i := app.InfoOf(cmd); i.Output != "" {
			all = append(all, documented{
				command: strings.Fields(app.Path(cmd) + " " + i.With), list: i.Output == app.List,
				always: strings.Fields(i.Always), sometimes: strings.Fields(i.Optional),
			})
		}
	}
	return all
}

// documents runs each command that describes its output with -o json and -o yaml. Standard output
// must be one document with the described names, and at least one element; the other format must
// have the same content. WORD=VALUE gives the value of a word in the commands: documents
// RUN=monday.
func documents(ts *testscript.TestScript, neg bool, args []string) {
	all := allDocumented()
	if neg || len(all) < 10 {
		ts.Fatalf("usage: documents WORD=VALUE...; %d commands", len(all))
	}
	var words []string
	for _, arg := range args {
		word, value, _ := strings.Cut(arg, "=")
		words = append(words, word, value)
	}
	for _, d := range all {
		command := slices.Clone(d.command)
		for i, word := range command {
			if at := slices.Index(words, word); at >= 0 && at%2 == 0 {
				command[i] = words[at+1]
			}
		}
		ts.Check(ts.Exec("stoker", append(command, "-o", "json")...))
		asJSON := ts.ReadFile("stdout")
		if err := d.check([]byte(asJSON)); err != nil {
			ts.Fatalf("stoker %s -o json: %v", strings.Join(command, " "), err)
		}
		ts.Check(ts.Exec("stoker", append(command, "-o", "yaml")...))
		same, err := yaml.YAMLToJSON([]byte(ts.ReadFile("stdout")))
		if err == nil {
			err = d.check(same)
		}
		if err != nil {
			ts.Fatalf("stoker %s -o yaml: %v", strings.Join(command, " "), err)
		}
	}
}

// check compares one document with its description.
func (d documented) check(document []byte) error {
	var found any
	if err := json.Unmarshal(document, &found); err != nil { // rejects data after a document
		return err
	}
	elements, isList := found.([]any)
	if isList != d.list {
		return fmt.Errorf("a %s", reflect.TypeOf(found))
	}
	if !isList {
		elements = []any{found}
	}
	if len(elements) == 0 {
		return fmt.Errorf("it is empty: nothing is checked")
	}
	for _, element := range elements {
		names, ok := element.(map[string]any)
		if !ok {
			return fmt.Errorf("holds %v", element)
		}
		for _, name := range d.always {
			if _, there := names[name]; !there {
				return fmt.Errorf("lacks %q: %v", name, names)
			}
		}
		for name := range names {
			if !slices.Contains(d.always, name) && !slices.Contains(d.sometimes, name) {
				return fmt.Errorf("%q is not documented", name)
			}
		}
	}
	return nil
}
