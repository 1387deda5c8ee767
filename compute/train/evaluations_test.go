package train_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// closing is a spiral that records when it is closed.
type closing struct {
	*spiral
	closed *int
}

func (c closing) Close() error { *c.closed++; return nil }

// diary records the calls of Evaluations, one line each: the steps of all, the final one with a
// point.
type diary struct {
	lines          []string
	opened, closed int
	checkpoints    []int
}

func (d *diary) open() (train.CloseSource, error) {
	d.opened++
	return closing{&spiral{batches: 5, rows: 4, next: 1}, &d.closed}, nil
}

func (d *diary) options(t *testing.T, dir string, steps int) train.Options {
	o := options(steps)
	o.Checkpoints = train.Checkpoints{Dir: dir, Every: 10}
	o.Checkpointed = func(step int) { d.checkpoints = append(d.checkpoints, step) }
	o.Evaluations = train.Evaluations{Open: d.open, Done: func(_ context.Context, all []train.Evaluation) error {
		var steps []string
		for _, e := range all {
			if e.Metrics["loss"] <= 0 {
				t.Errorf("evaluation %+v", e)
			}
			steps = append(steps, map[bool]string{true: "end", false: ""}[e.Final]+strings.Repeat("|", e.Step/10))
		}
		d.lines = append(d.lines, strings.Join(steps, " "))
		return nil
	}}
	return o
}

func run(ctx context.Context, t *testing.T, o train.Options, data train.Source) (train.Result, error) {
	t.Helper()
	return train.Run(ctx, o, model(t, nn.SoftmaxCrossEntropy{}, 3), data, nil)
}

func TestEveryCheckpointIsEvaluatedAndTheEndOnce(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]*spiral{"as many steps": endless(), "the data end": {batches: 30, rows: 4}} {
		d, steps := &diary{}, 30
		if name == "the data end" {
			steps = 0
		}
		result, err := run(t.Context(), t, d.options(t, t.TempDir(), steps), data)
		if err != nil || result.Metrics["loss"] <= 0 {
			t.Fatal(result, err)
		}
		want := []string{"|", "| ||", "| || end|||"}
		if steps == 0 { // only known afterwards: step 30 is the last
			want = []string{"|", "| ||", "| || |||", "| || end|||"}
		}
		if diff := cmp.Diff(want, d.lines); diff != "" || d.opened != d.closed {
			t.Errorf("%s: %d opened, %d closed; want - got +\n%s", name, d.opened, d.closed, diff)
		}
	}
}

func TestEvaluationsChangeNothingOfWhatIsLearnt(t *testing.T) {
	t.Parallel()
	plain, watched := model(t, nn.SoftmaxCrossEntropy{}, 3), model(t, nn.SoftmaxCrossEntropy{}, 3)
	if _, err := train.Run(t.Context(), options(25), plain, endless(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := train.Run(t.Context(), (&diary{}).options(t, t.TempDir(), 25), watched, endless(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain.Weights(), watched.Weights()); diff != "" {
		t.Error(diff)
	}
}

func TestEvaluationsAreThrottled(t *testing.T) {
	t.Parallel()
	d, now := &diary{}, time.Unix(0, 0)
	o := d.options(t, t.TempDir(), 60)
	o.Evaluations.Throttle = 25 * time.Second
	o.Now = func() time.Time { return now }
	data := endless()
	data.before = func(int) { now = now.Add(time.Second) }
	if _, err := run(t.Context(), t, o, data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"|||", "||| end||||||"}, d.lines); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

// Wherever a training is interrupted, its evaluations are those of an uninterrupted one.
func TestAResumedTrainingHasTheEvaluationsOfAnUndisturbedOne(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	for name, cut := range map[string]func(o *train.Options, data *spiral, stop context.CancelCauseFunc){
		"between checkpoints": func(_ *train.Options, data *spiral, stop context.CancelCauseFunc) {
			data.before = func(batch int) {
				if batch == 15 {
					stop(stopped)
				}
			}
		},
		"in an evaluation": func(o *train.Options, _ *spiral, stop context.CancelCauseFunc) {
			open := o.Evaluations.Open
			o.Evaluations.Open = func() (train.CloseSource, error) {
				stop(stopped)
				return open()
			}
		},
		"between an evaluation and its keeping": func(o *train.Options, _ *spiral, _ context.CancelCauseFunc) {
			o.Evaluations.Done = func(context.Context, []train.Evaluation) error { return stopped }
		},
		"in the last evaluation": func(o *train.Options, _ *spiral, stop context.CancelCauseFunc) {
			open, times := o.Evaluations.Open, 0
			o.Evaluations.Open = func() (train.CloseSource, error) {
				if times++; times == 3 {
					stop(stopped)
				}
				return open()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, d := t.TempDir(), &diary{}
			ctx, stop := context.WithCancelCause(t.Context())
			o, data := d.options(t, dir, 30), endless()
			cut(&o, data, stop)
			if _, err := run(ctx, t, o, data); !errors.Is(err, stopped) {
				t.Fatal(err)
			}
			if ctx.Err() != nil && len(d.checkpoints) == 0 {
				t.Error("the checkpoint was not reported")
			}
			if _, err := run(t.Context(), t, d.options(t, dir, 30), endless()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"|", "| ||", "| || end|||"}, d.lines); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
		})
	}
}

// A checkpoint is older than some evaluations: the steps after it will be taken again, and so will
// their evaluations.
func TestEvaluationsOfStepsToComeAreForgotten(t *testing.T) {
	t.Parallel()
	dir, d := t.TempDir(), &diary{}
	o := d.options(t, dir, 30)
	o.Checkpoints.Keep = -1
	if _, err := run(t.Context(), t, o, endless()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "step-*"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, later := range []string{"step-20.ckpt", "step-30.ckpt"} {
		if err := os.Remove(filepath.Join(dir, later)); err != nil {
			t.Fatal(err)
		}
	}
	d.lines = nil
	if _, err := run(t.Context(), t, d.options(t, dir, 30), endless()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"| ||", "| || end|||"}, d.lines); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestEvaluationsThatCantBeReadAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := run(t.Context(), t, (&diary{}).options(t, dir, 10), endless()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "evaluations.json"), []byte("[{"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := run(t.Context(), t, (&diary{}).options(t, dir, 20), endless())
	if err == nil || !strings.Contains(err.Error(), "train: resume: evaluations so far: unexpected end") {
		t.Errorf("error is %v", err)
	}
}
