package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/testscript"
)

// documented is a row of the page that says what programs read.
type documented struct {
	command           []string
	list              bool
	always, sometimes []string
}

// documentedIn reads the table of a page: | `stoker COMMAND` | list or object | names | names |.
func documentedIn(page string) (all []documented) {
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || !strings.Contains(cells[1], "`stoker ") {
			continue
		}
		all = append(all, documented{
			command: strings.Fields(strings.Trim(cells[1], "` "))[1:],
			list:    strings.TrimSpace(cells[2]) == "list",
			always:  strings.Fields(cells[3]), sometimes: strings.Fields(cells[4]),
		})
	}
	return all
}

// documents runs each command of infra/docs/output.md with -o json and -o yaml. Standard output must be one document that has the
// names which the page tells of, and at least one element; the other format must say the same. WORD=VALUE says what a word of the
// page's commands stands for: documents RUN=monday.
func documents(ts *testscript.TestScript, neg bool, args []string) {
	page, err := os.ReadFile("../../infra/docs/output.md")
	ts.Check(err)
	all := documentedIn(string(page))
	if neg || len(all) < 10 {
		ts.Fatalf("usage: documents WORD=VALUE...; %d rows", len(all))
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

// check holds one document to what is documented of it.
func (d documented) check(document []byte) error {
	var found any
	if err := json.Unmarshal(document, &found); err != nil { // refuses what comes behind a document
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
