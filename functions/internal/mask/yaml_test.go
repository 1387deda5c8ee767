package mask_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/internal/mask"
)

func TestSecretsInYAMLAreHidden(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"block":            "a: 1\ndb_password: hunter2 and more\nb: 2\n",
		"quoted key":       "\"api_key\": 'hunter2 x'\n",
		"flow":             "custom_config: {db_password: hunter2, label: species}\n",
		"flow, quoted":     "c: {\"api_token\": \"hunter2, hunter2\", b: 2}\n",
		"flow, nested":     "c: {credentials: {user: hunter2, x: [hunter2]}, b: 2}\n",
		"literal":          "private_key: |\n  hunter2\n\n  hunter2\nb: 2\n",
		"mapping":          "x:\n  credentials:\n    user: hunter2\n    more: [hunter2]\n  b: 2\n",
		"list":             "tokens:\n- hunter2\n- hunter2\nb: 2\n",
		"in a list":        "- name: a\n  secret: hunter2\n- secret: hunter2\n",
		"several lines":    "secret: \"hunter2\n  hunter2\"\nb: 2\n",
		"flow of lines":    "c: {secret: [hunter2,\n    hunter2],\n  }\nb: 2\n",
		"comment":          "a: 1 # the password: hunter2 hunter2\n# api_key = hunter2 hunter2\n",
		"address":          "url: postgres://me:hunter2@db/x\n",
		"carriage returns": "a: 1\r\nsecret: hunter2\r\nb: 2\r\n",
		"no end of line":   "secret: hunter2",
	} {
		masked := mask.YAML(text)
		if strings.Contains(masked, "hunter2") || !strings.Contains(masked, mask.Hidden) {
			t.Errorf("%s: %s", name, masked)
		}
		if strings.Contains(text, "b: 2") && !strings.Contains(masked, "b: 2") {
			t.Errorf("%s hides too much: %s", name, masked)
		}
	}
}

func TestOtherYAMLStaysAsItWasWritten(t *testing.T) {
	t.Parallel()
	const text = "# Trains the penguin model.\npipeline: penguin   # its name\nmodule: ./m\n\ntrainer:\n" +
		"  train_args: {num_steps: 20}\n  custom_config:\n    label: \"species\"\n    max_tokens: 512 # few\n    units: [8, 16]\n  note: |\n    a: b\n"
	if masked := mask.YAML(text); masked != text {
		t.Errorf("%s", masked)
	}
}

func FuzzYAML(f *testing.F) {
	f.Add("secret: {a: 'x\n y'}\n# password: z")
	f.Fuzz(func(t *testing.T, text string) {
		if masked := mask.YAML(text); len(masked) > 20*len(text)+64 {
			t.Errorf("%d bytes of %d", len(masked), len(text))
		}
	})
}

// A line of a foreign file may have thousands of values that all end with the line. If the work
// grew with the square of their number, this would not end within the time of a test.
func TestAVeryLongLineIsMasked(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{secret: 1 " + strings.Repeat("#secret:hunter2 ", 60_000), "{" + strings.Repeat("secret:1 # secret:hunter2 ", 30_000), strings.Repeat("dsn:hunter2,", 100_000)} {
		if strings.Contains(mask.YAML(text), "hunter2") {
			t.Errorf("%.20q... is not masked", text)
		}
	}
}
