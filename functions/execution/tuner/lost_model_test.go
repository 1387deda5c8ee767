package tuner_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// A study is cancelled after its best trial, and the trial's model is collected before another run
// asks for the study. No later trial would restore it, so the result is published without it.
func TestASearchIsPublishedWithoutAModelThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, oneFloat(tune.Random, 3, 1))
		p.spec += "  study: {best_model: on}\n"
		second := make(chan struct{})
		var once sync.Once
		p.trial = func(ctx context.Context, a module.Assignment, _ func(module.Message)) (map[string]float64, error) {
			first := false
			if a.Trial.ID == "0001" {
				once.Do(func() { first = true })
			}
			if first {
				close(second)
				<-ctx.Done()
				return nil, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
			}
			err := os.MkdirAll(a.ServingModelDir, 0o755)
			if err == nil {
				err = os.WriteFile(filepath.Join(a.ServingModelDir, "saved_model.pb"), nil, 0o600)
			}
			loss := map[string]float64{"0000": -1}[a.Trial.ID]
			return map[string]float64{"loss": loss}, err
		}
		p.with(1, 1, func() {
			p.offer("j1", "monday")
			<-second
			if err := p.bus.Cancel(t.Context(), "j1"); err != nil {
				t.Fatal(err)
			}
			p.published("monday")
			p.collect("checkpoint")
			p.offer("j2", "tuesday")
			if got := p.hparams("tuesday"); *got.Score != -1 {
				t.Errorf("published %+v", got)
			}
		})
		keys := keysOf(t, p.store)
		if slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "/model/") }) {
			t.Errorf("published %v", keys)
		}
		if text := p.manifest(keys); strings.Contains(text, `"model"`) || !strings.Contains(text, "the model of trial 0000, which is the best, is gone") {
			t.Errorf("manifest %s", text)
		}
	})
}

// collect removes the objects whose key has a word in it.
func (p *plant) collect(word string) {
	p.Helper()
	for _, key := range keysOf(p.T, p.store) {
		if !strings.Contains(key, word) {
			continue
		}
		if err := p.store.Delete(p.Context(), storage.Ref{Bucket: "stoker", Key: key}); err != nil {
			p.Fatal(err)
		}
	}
}

// manifest returns the manifest of the only attempt that published.
func (p *plant) manifest(keys []string) string {
	p.Helper()
	at := slices.IndexFunc(keys, func(key string) bool { return strings.HasSuffix(key, "/manifest.json") })
	if at < 0 {
		p.Fatalf("no manifest in %v", keys)
	}
	body, _, err := p.store.Open(p.Context(), storage.Ref{Bucket: "stoker", Key: keys[at]}, "")
	if err != nil {
		p.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}
