package trainer_test

import "testing"

// Threads and checkpoints of a builtin module do not change its model, so an existing model is
// used. Such a key may mean anything to a user's own module.
func TestWhatChangesNoResultMakesNoOtherExecution(t *testing.T) {
	t.Parallel()
	const own = `
pipeline: penguin
module: s3://stoker/up/penguin_utils.py
trainer:
  wait_for: [transform]
  train_args: {num_steps: 3}
`
	for name, c := range map[string]struct {
		spec, config string
		cached       bool
	}{
		"threads":               {spec, "{threads: 2}", true},
		"checkpoints":           {spec, "{checkpoint_every: 10, checkpoint_seconds: 1}", true},
		"dropout":               {spec, "{dropout: 0.5}", false},
		"dropout and threads":   {spec, "{dropout: 0.5, threads: 2}", false},
		"threads of a user's":   {own, "{threads: 2}", false},
		"a user's, as it was":   {own, "{}", true},
		"nothing":               {spec, "{}", true},
		"histograms in its log": {spec, "{histograms: 10}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, writesModel)
			b.put(t, "up/penguin_utils.py", "def run_fn(args): pass\n")
			if _, err := b.handle(t, job(t, "j1", "monday", c.spec), "a1"); err != nil {
				t.Fatal(err)
			}
			second, err := b.handle(t, job(t, "j2", "tuesday", c.spec+"  custom_config: "+c.config+"\n"), "a2")
			if err != nil {
				t.Fatal(err)
			}
			if second.Cached != c.cached {
				t.Errorf("cached: %v, expected %v", second.Cached, c.cached)
			}
		})
	}
}
