package pipeline

import (
	"bytes"
	"strings"
	"testing"
)

// The lines are the pipeline again: YAML that means the same, and every line that is not marked as
// a default is one that the file set.
func TestLinesAreThePipelineAgain(t *testing.T) {
	t.Parallel()
	const file = `pipeline: penguin
module: builtin:dnn
trainer:
  custom_config: {label: species, hidden_units: [8, 8], words: ["yes", "1e3", "a: b", "", "null", "-x"], nested: {a.b: {c: 1.5}}}
  train_args: {num_steps: 100}
  max_crashes: 3
  max_attempts: 2
tuner: {when: never, train_args: {num_steps: 50}}
`
	p, err := Parse("p.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := p.Lines()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	marked, inTuner := map[string]bool{}, false
	for _, line := range lines {
		text.WriteString(line.Text + "\n")
		if name := strings.TrimSpace(line.Text); !inTuner {
			marked[name] = line.Default
			inTuner = name == "tuner:"
		} else {
			marked["tuner: "+name] = line.Default
		}
	}
	again, err := Parse("again.yaml", []byte(text.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	want, err := p.Effective()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Effective(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	for line, want := range map[string]bool{
		"tuner: num_steps: 50": false, "tuner: max_attempts: 2": true, "max_attempts: 2": false, "label: species": false, "max_crashes: 3": true, `cache: "on"`: true, "splits: [train]": true,
	} {
		if got, there := marked[line]; !there || got != want {
			t.Errorf("%q is marked %t (there: %t), want %t\n%s", line, got, there, want, &text)
		}
	}
}

// Secrets are hidden in lines as in JSON.
func TestLinesHideSecrets(t *testing.T) {
	t.Parallel()
	p, err := Parse("p.yaml", []byte("pipeline: p\nmodule: ./m\ntrainer: {hyperparameters: none, custom_config: {db_password: hunter2}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := p.Lines()
	if err != nil || len(lines) == 0 {
		t.Fatal(lines, err)
	}
	for _, line := range lines {
		if strings.Contains(line.Text, "hunter2") {
			t.Error(line.Text)
		}
	}
}
