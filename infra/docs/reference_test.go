package docs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

var update = flag.Bool("update", false, "write the generated parts of the pages anew")

// The keys of pipeline.md are those of the JSON Schema. Each has a default, or is required, and an
// example from testdata/keys.yaml.
func TestThePageOfThePipelineFileIsCurrent(t *testing.T) {
	t.Parallel()
	var root keySchema
	if err := json.Unmarshal(pipeline.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, section := range sections(root) {
		fmt.Fprintf(&text, "\n### %s\n\n| key | values | default | example | meaning |\n|---|---|---|---|---|\n", section.title)
		for _, k := range section.keys {
			example := exampleOf(t, k)
			if k.leaf() && (example == "" || k.defaultText() == "") {
				t.Errorf("%s: has the default %q and the example %q: add them to the schema (Default: ...) and to testdata/keys.yaml", k.path, k.defaultText(), example)
			}
			fmt.Fprintf(&text, "| `%s` | %s | %s | %s | %s |\n", strings.TrimPrefix(k.path, section.prefix), k.schema.values(), k.defaultText(), example, k.meaning())
		}
	}
	checkGenerated(t, "pipeline.md", "keys", text.String()+"\n")
}

// Each document of testdata/keys.yaml is a valid pipeline.
func TestTheExamplesOfKeysAreValid(t *testing.T) {
	t.Parallel()
	for i, text := range keyExamples(t) {
		if _, err := pipeline.Parse(fmt.Sprintf("keys.yaml, document %d", i+1), []byte(text)); err != nil {
			t.Error(err)
		}
	}
}

// keySchema is the part of JSON Schema that pipeline.v1.json uses.
type keySchema struct {
	Type             string
	Pattern          string
	Enum             []any
	Default          json.RawMessage
	Description      string
	Minimum, Maximum json.Number
	Properties       keyProperties
	Required         []string
	Items            *keySchema
	OneOf            []keySchema
}

// keyProperties are the properties of an object, in the order of the file.
type keyProperties []keyProperty

type keyProperty struct {
	name   string
	schema keySchema
}

func (p *keyProperties) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var s keySchema
		if err := d.Decode(&s); err != nil {
			return err
		}
		*p = append(*p, keyProperty{name.(string), s})
	}
	return nil
}

// object returns the form of a value that is a mapping with known keys, and "[]" if the value is a
// list of these.
func (s keySchema) object() (keySchema, string) {
	if len(s.Properties) > 0 {
		return s, ""
	}
	for _, form := range s.OneOf {
		if len(form.Properties) > 0 {
			return form, ""
		}
	}
	if s.Items != nil {
		o, _ := s.Items.object()
		return o, "[]"
	}
	return keySchema{}, ""
}

// values describes what a key may have as its value.
func (s keySchema) values() string {
	between := func() string {
		switch {
		case s.Minimum != "" && s.Maximum != "":
			return fmt.Sprintf(", %s to %s", s.Minimum, s.Maximum)
		case s.Minimum != "":
			return fmt.Sprintf(", %s or more", s.Minimum)
		}
		return ""
	}
	switch {
	case len(s.OneOf) > 0:
		var forms []string
		for _, form := range s.OneOf {
			if words := form.values(); !slices.Contains(forms, words) {
				forms = append(forms, words)
			}
		}
		return strings.Join(forms, "; or ")
	case len(s.Enum) > 0:
		var words []string
		for _, value := range s.Enum {
			if word, ok := value.(string); ok {
				words = append(words, "`"+word+"`")
			}
		}
		return strings.Join(words, ", ")
	case s.Type == "array":
		return "list of: " + s.Items.values()
	case s.Type == "object":
		return "mapping"
	case strings.Contains(s.Pattern, "always"):
		return "`always`, `changed`, `never`"
	case strings.Contains(s.Pattern, "never"):
		return "duration, `never`"
	case strings.Contains(s.Pattern, "ns|us"):
		return "duration"
	case strings.HasSuffix(s.Pattern, "B$"):
		return "size"
	case s.Type == "string":
		return "text"
	}
	return s.Type + between()
}

// key is a key of the pipeline file, with the dots of its path and "[]" after lists.
type key struct {
	path     string
	schema   keySchema
	required bool
}

// leaf reports whether a value of the key has no keys of its own.
func (k key) leaf() bool { o, _ := k.schema.object(); return len(o.Properties) == 0 }

// inTable escapes text for a cell of a table.
var inTable = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;")

func (k key) meaning() string {
	text, _, _ := strings.Cut(k.schema.Description, "Default: ")
	return strings.TrimRight(inTable.Replace(text), ". ")
}

// defaultText returns the default in the schema, or the text after "Default:" in the description.
func (k key) defaultText() string {
	for _, s := range append([]keySchema{k.schema}, k.schema.OneOf...) {
		if s.Default != nil {
			return "`" + strings.Trim(string(s.Default), `"`) + "`"
		}
	}
	if _, text, ok := strings.Cut(k.schema.Description, "Default: "); ok {
		if strings.Contains(text, " ") || text == "none" {
			return inTable.Replace(text)
		}
		return "`" + text + "`"
	}
	if k.required {
		return "required"
	}
	return ""
}

// keySection is a table of keys.
type keySection struct {
	title, prefix string
	keys          []key
}

// sections returns the keys of the file: those at its top, and tables of those below one of them.
func sections(root keySchema) []keySection {
	all := []keySection{{title: "Top level"}}
	for _, title := range []string{"module", "trainer", "tuner", "tuner.study", "concurrency"} {
		all = append(all, keySection{title: title, prefix: title + "."})
	}
	var add func(s keySchema, prefix string)
	add = func(s keySchema, prefix string) {
		for _, p := range s.Properties {
			k := key{path: prefix + p.name, schema: p.schema, required: slices.Contains(s.Required, p.name)}
			into := 0
			for i := range all {
				if strings.HasPrefix(k.path, all[i].prefix) && len(all[i].prefix) >= len(all[into].prefix) {
					into = i
				}
			}
			all[into].keys = append(all[into].keys, k)
			below, list := p.schema.object()
			add(below, k.path+list+".")
		}
	}
	add(root, "")
	return all
}

// keyExamples returns the documents of testdata/keys.yaml.
func keyExamples(t *testing.T) []string {
	t.Helper()
	return strings.Split(read(t, "testdata/keys.yaml"), "\n---\n")
}

// exampleOf returns the value of a key in the first example that has it, in YAML's flow style. For
// a key with keys of its own it is an example of the short form, or "".
func exampleOf(t *testing.T, k key) string {
	t.Helper()
	for _, text := range keyExamples(t) {
		var value any
		if err := yaml.UnmarshalWithOptions([]byte(text), &value, yaml.UseOrderedMap()); err != nil {
			t.Fatal(err)
		}
		if value, found := lookup(value, strings.Split(k.path, ".")); found && (k.leaf() || !strings.Contains(flow(value), "{")) {
			return "`" + flow(value) + "`"
		}
	}
	return ""
}

func lookup(value any, path []string) (any, bool) {
	for _, name := range path {
		name, list := strings.CutSuffix(name, "[]")
		var found bool
		if value, found = member(value, name); !found {
			return nil, false
		}
		if elements, ok := value.([]any); list && ok {
			value = elements[0]
		}
	}
	return value, true
}

func member(of any, name string) (any, bool) {
	mapping, _ := of.(yaml.MapSlice)
	for _, item := range mapping {
		if item.Key == name {
			return item.Value, true
		}
	}
	return nil, false
}

func flow(value any) string {
	var parts []string
	switch v := value.(type) {
	case yaml.MapSlice:
		for _, item := range v {
			parts = append(parts, fmt.Sprintf("%v: %s", item.Key, flow(item.Value)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, element := range v {
			parts = append(parts, flow(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(value)
}

// cli.md has the help of each command, as the program prints it.
func TestThePageOfCommandsIsCurrent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: the program is built")
	}
	stoker := builtStoker(t)
	var text strings.Builder
	var add func(path []string)
	add = func(path []string) {
		help := helpOf(t, stoker, path)
		fmt.Fprintf(&text, "\n%s stoker%s\n\n```text\n%s\n```\n", strings.Repeat("#", min(len(path), 2)+2), strings.Join(append([]string{""}, path...), " "), shown(help))
		for _, name := range subcommands(help) {
			add(append(slices.Clone(path), name))
		}
	}
	add(nil)
	fmt.Fprintf(&text, "\n## Flags of every command\n\n```text\n%s\n```\n", strings.TrimSpace(helpOf(t, stoker, []string{"connection"})))
	checkGenerated(t, "cli.md", "commands", text.String()+"\n")
}

// programDir makes the directory of the program that buildStoker builds, once for all tests.
var programDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "stoker-docs") })

var buildStoker = sync.OnceValues(func() (string, error) {
	dir, err := programDir()
	if err != nil {
		return "", err
	}
	stoker := filepath.Join(dir, "stoker")
	if said, err := exec.Command("go", "build", "-o", stoker, "../../functions/stoker").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w: %s", err, said)
	}
	return stoker, nil
})

func builtStoker(t *testing.T) string {
	t.Helper()
	stoker, err := buildStoker()
	if err != nil {
		t.Fatal(err)
	}
	return stoker
}

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := programDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(status)
}

func helpOf(t *testing.T, stoker string, path []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), stoker, append(slices.Clone(path), "--help")...)
	// Defaults of flags are below it.
	cmd.Env = []string{"HOME=/home/you", "PATH=" + os.Getenv("PATH")}
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("stoker %v --help: %v: %s", path, err, said)
	}
	return string(said)
}

var (
	globalFlags = regexp.MustCompile(`(?s)\nFlags of every command:\n.*$`)
	groups      = regexp.MustCompile(`(?m)^(?:Commands|Start|Look|Act|Operate):\n((?:  .*\n)+)`)
	commandLine = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) +\S`)
)

// shown returns a help text without the flags that every command has and the hints at its end.
func shown(help string) string { return strings.TrimSpace(globalFlags.ReplaceAllString(help, "")) }

// subcommands returns the names that a help text lists, without cobra's own.
func subcommands(help string) (names []string) {
	for _, list := range groups.FindAllStringSubmatch(help, -1) {
		for _, found := range commandLine.FindAllStringSubmatch(list[1], -1) {
			if found[1] != "help" && found[1] != "completion" {
				names = append(names, found[1])
			}
		}
	}
	slices.Sort(names)
	return names
}

// checkGenerated compares the part of a page between its marks with the generated text, or writes
// it there.
func checkGenerated(t *testing.T, page, part, want string) {
	t.Helper()
	text := read(t, page)
	begin, end := "<!-- generated: "+part+" -->\n", "<!-- end of generated -->"
	before, rest, found := strings.Cut(text, begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s: has no part between %q and %q", page, begin, end)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is not current: run `go generate ./infra/docs` (-generated +page)\n%s", page, diff)
	}
}

// builtin.md has each key of custom_config.
func TestThePageOfBuiltinModelsHasEveryKey(t *testing.T) {
	t.Parallel()
	err := builtin.CheckConfig("dnn", map[string]any{"label": "species", "no_such_key": 1})
	if err == nil {
		t.Fatal("an unknown key is accepted")
	}
	_, keys, found := strings.Cut(err.Error(), "expected some of ")
	keys, _, _ = strings.Cut(keys, ";")
	text, names := read(t, "builtin.md"), strings.Split(keys, ", ")
	if !found || len(names) < 30 {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("builtin.md does not have the key %s", name)
		}
	}
}

var (
	svgText  = regexp.MustCompile(`<text [^>]*>([^<]+)</text>`)
	mmdLabel = regexp.MustCompile(`\["([^"]+)"\]|-->\|([^|]+)\|`)
	colors   = strings.NewReplacer("#1f2328", "#e6edf3", "#57606a", "#9198a1", "#ffffff", "#161b22", "#ddf4ff", "#121d2f", "#0969da", "#4493f8", "#dafbe1", "#12261e", "#1a7f37", "#3fb950")
)

// The picture of the data flow has the labels of its source, in light and in dark colors, and the
// README shows both.
func TestThePictureOfTheDataFlowIsThatOfItsSource(t *testing.T) {
	t.Parallel()
	light, dark, readme := read(t, "dataflow.svg"), read(t, "dataflow-dark.svg"), read(t, "../../README.md")
	if diff := cmp.Diff(colors.Replace(light), dark); diff != "" {
		t.Errorf("dataflow-dark.svg: -the light one in dark colors +the file\n%s", diff)
	}
	var want, got []string
	for _, found := range mmdLabel.FindAllStringSubmatch(read(t, "dataflow.mmd"), -1) {
		want = append(want, strings.Split(found[1]+found[2], "<br>")...)
	}
	for _, found := range svgText.FindAllStringSubmatch(light, -1) {
		got = append(got, found[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 15 {
		t.Errorf("labels: -dataflow.mmd +dataflow.svg\n%s", diff)
	}
	for _, name := range []string{"dataflow.svg", "dataflow-dark.svg"} {
		if !strings.Contains(readme, `"infra/docs/`+name+`"`) {
			t.Errorf("the README does not show %s", name)
		}
	}
}
