package events

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
)

var update = flag.Bool("update", false, "write schema/ anew from the Go types")

// described returns the Go types with a schema, by the name of their file.
func described() map[string]any {
	types := map[string]any{"job": &Job{}, "dead-letter": &DeadLetter{}}
	for _, kind := range Kinds() {
		types[string(kind)] = NewData(kind)
	}
	return types
}

func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"schema/asyncapi.yaml": asyncAPI(t)}
	for name, value := range described() {
		files["schema/"+name+".v1.json"] = schemaOf(t, name, value)
	}
	for path, want := range files {
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the Go types say; run `go generate ./events` (-types +file):\n%s", path, diff)
		}
	}
}

func schemaOf(t *testing.T, name string, value any) []byte {
	t.Helper()
	reflector := jsonschema.Reflector{
		Anonymous:                  true,
		ExpandedStruct:             true,
		AllowAdditionalProperties:  true, // for newer publishers
		RequiredFromJSONSchemaTags: true,
	}
	schema := reflector.Reflect(value)
	schema.ID = jsonschema.ID("https://stoker.dev/schema/" + name + ".v1.json")
	schema.Title = reflect.TypeOf(value).Elem().Name()
	for _, each := range all(schema) {
		spellOut(each)
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// all lists a schema and every schema inside it.
func all(schema *jsonschema.Schema) []*jsonschema.Schema {
	if schema == nil {
		return nil
	}
	found := append([]*jsonschema.Schema{schema}, all(schema.Items)...)
	for _, inner := range schema.Definitions {
		found = append(found, all(inner)...)
	}
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		found = append(found, all(pair.Value)...)
	}
	return found
}

// spellOut replaces the formats in the tags of data.go and job.go by their patterns.
func spellOut(schema *jsonschema.Schema) {
	limit := func(n uint64) *uint64 { return &n }
	of := schema
	if schema.Items != nil && schema.Format == "split" {
		of, schema.Format = schema.Items, ""
		of.Format = "split"
	}
	if of.Extras["format"] == "patterns" { // of an object: its names and their values
		of.Extras, of.PropertyNames = nil, &jsonschema.Schema{Pattern: splitPattern}
		of.AdditionalProperties = &jsonschema.Schema{
			Type: "string", Pattern: filesPattern, MaxLength: limit(maxSource), Not: &jsonschema.Schema{Pattern: `\*\*`},
		}
	}
	switch of.Format {
	case "s3":
		of.Format, of.Pattern, of.MaxLength = "", uriPattern, limit(maxURI)
	case "digest":
		of.Format, of.Pattern = "", digestPattern
	case "split":
		of.Format, of.Pattern = "", splitPattern
	case "name":
		of.Format, of.Pattern, of.MaxLength = "", namePattern, limit(maxName)
	case "class":
		of.Format, of.Pattern, of.MaxLength = "", classPattern, limit(maxClass)
	case "kind":
		of.Format = ""
		for _, kind := range Kinds() {
			of.Enum = append(of.Enum, kind)
		}
	case "jobid":
		of.Format, of.Pattern = "", jobIDPattern
	}
}

func TestEverySchemaIsBuiltIn(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		if !bytes.Contains(Schema(kind), []byte(newDataName(kind))) {
			t.Errorf("no schema for %s", kind)
		}
	}
	for name, text := range map[string][]byte{"job": JobSchema(), "dead letter": DeadLetterSchema(), "AsyncAPI": AsyncAPI()} {
		if len(text) == 0 {
			t.Errorf("%s: not built in", name)
		}
	}
	if Schema("nonsuch") != nil {
		t.Error("a schema for a kind there is not")
	}
}

func newDataName(kind Kind) string { return reflect.TypeOf(NewData(kind)).Elem().Name() }
