package serve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/functions/integrate/openlineage"
	"github.com/stoker-ml/stoker/functions/settings"
)

// The receiver of lineage: flags before the environment before the configuration file.
func TestTheReceiverOfLineageIsASetting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "openlineage:\n  url: http://by-file:5000\n  api_key: k\n  namespace: prod\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config := func(f exportFlags) openlineage.Config {
		t.Helper()
		found, err := settings.Find(settings.Sources{Environ: os.Environ(), File: file})
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.config(found)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if got, want := config(exportFlags{}), (openlineage.Config{URL: "http://by-file:5000/api/v1/lineage", APIKey: "k", Namespace: "prod"}); got != want {
		t.Errorf("by file: %+v, want %+v", got, want)
	}
	t.Setenv("OPENLINEAGE_URL", "http://by-env:5000")
	t.Setenv("OPENLINEAGE_API_KEY", "e")
	if got, want := config(exportFlags{}), (openlineage.Config{URL: "http://by-env:5000/api/v1/lineage", APIKey: "e", Namespace: "prod"}); got != want {
		t.Errorf("by environment: %+v, want %+v", got, want)
	}
	if got := config(exportFlags{to: "http://by-flag", namespace: "n"}); got.URL != "http://by-flag/api/v1/lineage" || got.Namespace != "n" {
		t.Errorf("by flags: %+v", got)
	}
}
