package train_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/train"
)

func TestAStoppedRunGoesOnAsIfNothingHadHappened(t *testing.T) {
	t.Parallel()
	whole := model(t, nn.SoftmaxCrossEntropy{}, 3)
	if _, err := train.Run(t.Context(), options(60), whole, endless(), nil); err != nil {
		t.Fatal(err)
	}
	dir, preempted := t.TempDir(), errors.New("preempted")
	for i, stopAt := range []int{23, 41} {
		ctx, cancel := context.WithCancelCause(t.Context())
		o, s := options(60), endless()
		o.Checkpoints = train.Checkpoints{Dir: dir, Every: 10, Keep: 2}
		s.before = func(batch int) {
			if batch == stopAt {
				cancel(preempted)
			}
		}
		result, err := train.Run(ctx, o, model(t, nn.SoftmaxCrossEntropy{}, 3), s, nil)
		if !errors.Is(err, preempted) || result.Steps != stopAt || result.Resumed != []int{0, 23}[i] {
			t.Fatalf("stopped at %d: %+v, %v", stopAt, result, err)
		}
		cancel(nil)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "step-40.ckpt"), filepath.Join(dir, "step-41.ckpt")}, names); diff != "" {
		t.Errorf("files kept: want - got +\n%s", diff)
	}
	m, o := model(t, nn.SoftmaxCrossEntropy{}, 3), options(60)
	o.Checkpoints = train.Checkpoints{Dir: dir}
	if _, err := train.Run(t.Context(), o, m, endless(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.Weights(), m.Weights()); diff != "" {
		t.Errorf("weights: whole - resumed +\n%s", diff)
	}
}

// A caller that stores something with each checkpoint can do so before the checkpoint exists.
func TestACheckpointIsReportedBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	o, s := options(20), endless()
	o.Checkpoints = train.Checkpoints{Dir: filepath.Join(t.TempDir(), "checkpoints"), Every: 10, Keep: -1}
	files := func() int {
		entries, _ := os.ReadDir(o.Checkpoints.Dir) // it does not exist before the first one
		return len(entries)
	}
	var before, after []int
	o.Checkpointing = func(step int) { before = append(before, step, files()) }
	o.Checkpointed = func(step int) { after = append(after, step, files()) }
	if _, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), s, nil); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(before, []int{10, 0, 20, 1}) || !cmp.Equal(after, []int{10, 1, 20, 2}) {
		t.Errorf("steps and files: before %v, after %v", before, after)
	}
}

func TestACheckpointIsWrittenWhenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	o, s := options(60), endless()
	clock := time.Unix(1, 0)
	s.before = func(int) { clock = clock.Add(time.Second) } // a step takes a second
	o.Now = func() time.Time { return clock }
	o.Checkpoints = train.Checkpoints{Dir: t.TempDir(), Interval: 25 * time.Second}
	var saved []int
	o.Checkpointed = func(step int) { saved = append(saved, step) }
	m, whole := model(t, nn.SoftmaxCrossEntropy{}, 3), model(t, nn.SoftmaxCrossEntropy{}, 3)
	if _, err := train.Run(t.Context(), o, m, s, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{25, 50}, saved); diff != "" {
		t.Errorf("reported checkpoints: want - got +\n%s", diff)
	}
	if _, err := train.Run(t.Context(), options(60), whole, endless(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.Weights(), m.Weights()); diff != "" {
		t.Errorf("a checkpoint changed the result: without - with +\n%s", diff)
	}
}

func TestAKillCostsAtMostOneInterval(t *testing.T) {
	t.Parallel()
	for kill := 1; kill < 30; kill++ {
		dir, killed := t.TempDir(), errors.New("killed")
		o, s := options(30), endless()
		o.Checkpoints = train.Checkpoints{Dir: dir, Every: 7}
		s.before = func(batch int) {
			if batch == kill {
				panic(killed) // nothing is cleaned up, as with SIGKILL
			}
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), s, nil)
		}()
		o = options(30)
		o.Checkpoints = train.Checkpoints{Dir: dir, Every: 7}
		result, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil)
		if err != nil || result.Steps != 30 || kill-result.Resumed >= 7 || result.Resumed > kill {
			t.Errorf("killed after %d steps: went on from %d to %d, %v", kill, result.Resumed, result.Steps, err)
		}
	}
}

// checkpointed runs 30 steps with a checkpoint every 10 and returns the directory.
func checkpointed(t *testing.T) string {
	t.Helper()
	o := options(30)
	o.Checkpoints = train.Checkpoints{Dir: t.TempDir(), Every: 10, Keep: 3}
	var saved []int
	o.Checkpointed = func(step int) { saved = append(saved, step) }
	if _, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{10, 20, 30}, saved); diff != "" {
		t.Fatalf("reported checkpoints: want - got +\n%s", diff)
	}
	return o.Checkpoints.Dir
}

func TestADamagedCheckpointIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func([]byte) []byte{
		"flipped bit": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"cut off":     func(b []byte) []byte { return b[:len(b)-9] },
		"empty":       func([]byte) []byte { return nil },
	} {
		dir := checkpointed(t)
		path := filepath.Join(dir, "step-30.ckpt")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, damage(data), 0o644); err != nil {
			t.Fatal(err)
		}
		o := options(31)
		o.Checkpoints = train.Checkpoints{Dir: dir}
		result, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil)
		if err != nil || result.Resumed != 20 {
			t.Errorf("%s: resumed at %d, %v", name, result.Resumed, err)
		}
	}
}

func TestACheckpointOfAnotherTrainingIsRefused(t *testing.T) {
	t.Parallel()
	sgd, err := optim.New("sgd", 0)
	if err != nil {
		t.Fatal(err)
	}
	dir := checkpointed(t)
	for name, change := range map[string]func(*train.Options, **nn.Model){
		"seed":      func(o *train.Options, _ **nn.Model) { o.Checkpoints.Seed = 7 },
		"optimizer": func(o *train.Options, _ **nn.Model) { o.Optimizer = sgd },
		"shape":     func(_ *train.Options, m **nn.Model) { *m = model(t, nn.SoftmaxCrossEntropy{}, 4) },
	} {
		o, m := options(31), model(t, nn.SoftmaxCrossEntropy{}, 3)
		o.Checkpoints.Dir = dir
		change(&o, &m)
		_, err := train.Run(t.Context(), o, m, endless(), nil)
		if err == nil || !strings.Contains(err.Error(), "step-30.ckpt: is of another training") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatAKilledTrainingLeftHalfWrittenIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const half, other = ".step-9.ckpt.123", ".notes"
	for _, name := range []string{half, other} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("stkckpt"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := options(3)
	o.Checkpoints = train.Checkpoints{Dir: dir, Every: 3}
	if _, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{other, "step-3.ckpt"}; !slices.Equal(names, want) {
		t.Errorf("the folder has %q, expected %q", names, want)
	}
}
