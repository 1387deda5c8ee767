package pipeline_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

const written = "# Trains; the password: hunter2 is in here too.\npipeline: penguin\nmodule: ./m\ntrainer:\n  hyperparameters: none\n" +
	"  custom_config: {db_password: hunter2, label: species}   # <b>\n"

func parsed(t *testing.T, text string) pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnEntryHoldsThePipelineAndItsOrigin(t *testing.T) {
	t.Parallel()
	p := parsed(t, written)
	origin := pipeline.Origin{Source: written, File: "p.yaml", User: "ana", Host: "laptop", Client: "stoker apply", Of: 3}
	value, err := p.Entry(origin)
	if err != nil {
		t.Fatal(err)
	}
	read, back, err := pipeline.FromEntry(value)
	if err != nil || back != origin {
		t.Fatalf("%+v, %v", back, err)
	}
	want, _ := p.JSON()
	if got, err := read.JSON(); err != nil || string(got) != string(want) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := pipeline.FromJSON(value); err == nil {
		t.Error("a job or an event may hold an origin")
	}
	if bare, err := p.Entry(pipeline.Origin{}); err != nil || string(bare) != string(want) {
		t.Errorf("without an origin: %s, %v", bare, err)
	}
}

// TestAHostileOriginChangesNothing reads origins that another client may have written.
func TestAHostileOriginChangesNothing(t *testing.T) {
	t.Parallel()
	value, err := parsed(t, written).JSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, origin := range map[string]string{
		"another type": `7`, "a list": `[]`, "wrong members": `{"source": 7, "user": {}}`, "long texts": `{"user":"` + strings.Repeat("é", 1<<20) + `","source":"` + strings.Repeat("a", 1<<20) + `"}`,
		"unknown members": `{"later": {"a": 1}}`,
	} {
		p, o, err := pipeline.FromEntry([]byte(strings.TrimSuffix(string(value), "}") + `,"applied":` + origin + "}"))
		if err != nil || p.Name != "penguin" {
			t.Errorf("%s: %v", name, err)
		}
		if len(o.Source) > pipeline.MaxSource || len(o.User) > 300 {
			t.Errorf("%s: %d and %d bytes are kept", name, len(o.Source), len(o.User))
		}
	}
}

func TestASourceIsCheckedAgainstThePipeline(t *testing.T) {
	t.Parallel()
	p := parsed(t, written)
	p.Module.Path = "s3://bkt/modules/0123/m"
	if module, err := p.CheckSource(written); err != nil || module != "./m" {
		t.Errorf("%s, %v", module, err)
	}
	for name, text := range map[string]string{
		"another value": strings.Replace(written, "species", "island", 1), "another name": strings.Replace(written, "penguin\n", "taxi\n", 1), "not a pipeline": "hello: {", "nothing": "",
	} {
		if _, err := p.CheckSource(text); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestTheSourceIsShownWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	text := written + "# hunter2, again, and \"hunter2\"\n"
	shown := parsed(t, text).MaskedSource(text)
	if strings.Contains(shown, "hunter2") || !strings.Contains(shown, mask.Hidden) {
		t.Error(shown)
	}
	for _, kept := range []string{"# Trains; the password", "pipeline: penguin\nmodule: ./m\n", "label: species", "# <b>"} {
		if !strings.Contains(shown, kept) {
			t.Errorf("%q is missing:\n%s", kept, shown)
		}
	}
	if pipeline.SourceOf([]byte(strings.Repeat("a", pipeline.MaxSource+1))) != "" || pipeline.SourceOf([]byte("\xff")) != "" {
		t.Error("a text is kept that is too large, or not UTF-8")
	}
}
