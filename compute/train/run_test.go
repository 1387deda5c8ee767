package train_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// spiral is a source of rows whose class is by which of three rays they are next to.
type spiral struct {
	batches int // left; negative: for ever
	rows    int
	next    float64
	before  func(batch int) // is called before each
	given   int
}

func (s *spiral) Next(ctx context.Context) (nn.Batch, error) {
	if s.before != nil {
		s.before(s.given)
	}
	if ctx.Err() != nil {
		return nn.Batch{}, ctx.Err()
	}
	if s.batches == 0 {
		return nn.Batch{}, io.EOF
	}
	s.batches--
	s.given++
	b := nn.Batch{Rows: s.rows}
	var x []float32
	for range s.rows {
		s.next += 2.399963 // the golden angle: spreads rows evenly
		turn := math.Mod(s.next, 2*math.Pi)
		x = append(x, float32(math.Cos(turn)), float32(math.Sin(turn)))
		target := make([]float32, 3)
		target[int(turn/(2*math.Pi)*3)] = 1
		b.Targets = append(b.Targets, target...)
	}
	b.Inputs = map[string]nn.Value{"x": nn.Floats(2, x...)}
	return b, nil
}

func model(t testing.TB, loss nn.Loss, width int) *nn.Model {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	logits := b.Dense("logits", b.Dense("hidden", b.Input("x", nn.Float32, 2), 8, nn.OpTanh), width, "")
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel(g, logits.Name, loss)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func options(steps int) train.Options {
	adam, err := nn.NewOptimizer("adam", 0.01)
	if err != nil {
		panic(err)
	}
	return train.Options{Steps: steps, BatchSize: 4, Optimizer: adam}
}

func endless() *spiral { return &spiral{batches: -1, rows: 4} }

func TestRunLearns(t *testing.T) {
	t.Parallel()
	o := options(500)
	var reports []train.Progress
	o.Report = func(p train.Progress) { reports = append(reports, p) }
	result, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), &spiral{batches: 50, rows: 7, next: 1})
	if err != nil {
		t.Fatal(err)
	}
	if result.Steps != 500 || result.Metrics["accuracy"] < 0.9 || result.Metrics["loss"] > 0.3 {
		t.Errorf("result is %+v", result)
	}
	var steps []int
	for _, p := range reports {
		if p.Phase == train.Training {
			steps = append(steps, p.Step)
		}
	}
	if diff := cmp.Diff([]int{100, 200, 300, 400, 500}, steps); diff != "" {
		t.Errorf("reported steps: want - got +\n%s", diff)
	}
	if first, last := reports[0].Metrics["loss"], reports[4].Metrics["loss"]; last > first/2 {
		t.Errorf("reported loss went from %v to %v", first, last)
	}
}

func TestRunEndsWithTheData(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{0, 100} {
		result, err := train.Run(t.Context(), options(steps), model(t, nn.SoftmaxCrossEntropy{}, 3), &spiral{batches: 7, rows: 4}, nil)
		if err != nil || result.Steps != 7 {
			t.Errorf("steps %d: result is %+v, %v", steps, result, err)
		}
	}
	if _, err := train.Run(t.Context(), options(3), model(t, nn.SoftmaxCrossEntropy{}, 3), &spiral{}, nil); !errors.Is(err, io.EOF) {
		t.Errorf("no data: %v", err)
	}
}

func TestEvaluationTakesAsManyBatchesAsAskedFor(t *testing.T) {
	t.Parallel()
	for asked, want := range map[int]int{0: 9, 5: 5, 20: 9} {
		s := &spiral{batches: 9, rows: 4}
		if _, err := train.Evaluate(t.Context(), model(t, nn.SoftmaxCrossEntropy{}, 3), s, asked); err != nil || s.given != want {
			t.Errorf("asked for %d: took %d, expected %d; %v", asked, s.given, want, err)
		}
	}
	if _, err := train.Evaluate(t.Context(), model(t, nn.SoftmaxCrossEntropy{}, 3), &spiral{}, 0); err == nil {
		t.Error("no rows: no error")
	}
}

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

// Who keeps something with each checkpoint can have it there before the checkpoint is.
func TestACheckpointIsToldOfBeforeThereIsAnythingOfIt(t *testing.T) {
	t.Parallel()
	o, s := options(20), endless()
	o.Checkpoints = train.Checkpoints{Dir: filepath.Join(t.TempDir(), "checkpoints"), Every: 10, Keep: -1}
	files := func() int {
		entries, _ := os.ReadDir(o.Checkpoints.Dir) // not there before the first
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
	var told []int
	o.Checkpointed = func(step int) { told = append(told, step) }
	m, whole := model(t, nn.SoftmaxCrossEntropy{}, 3), model(t, nn.SoftmaxCrossEntropy{}, 3)
	if _, err := train.Run(t.Context(), o, m, s, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{25, 50}, told); diff != "" {
		t.Errorf("checkpoints told of: want - got +\n%s", diff)
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
				panic(killed) // nothing is tidied up, as with SIGKILL
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

// checkpointed runs 30 steps with a checkpoint every 10 and returns the folder.
func checkpointed(t *testing.T) string {
	t.Helper()
	o := options(30)
	o.Checkpoints = train.Checkpoints{Dir: t.TempDir(), Every: 10, Keep: 3}
	var told []int
	o.Checkpointed = func(step int) { told = append(told, step) }
	if _, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{10, 20, 30}, told); diff != "" {
		t.Fatalf("checkpoints told of: want - got +\n%s", diff)
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
	sgd, err := nn.NewOptimizer("sgd", 0)
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

func TestALossThatIsNoNumberEndsTheRunAndNamesTheStep(t *testing.T) {
	t.Parallel()
	s := endless()
	m := model(t, nn.MeanSquaredError{}, 3)
	s.before = func(batch int) {
		if batch == 4 {
			m.Weights()[0] = float32(math.NaN())
		}
	}
	_, err := train.Run(t.Context(), options(10), m, s, nil)
	if !errors.Is(err, train.ErrNotFinite) || !strings.Contains(err.Error(), "step 5:") {
		t.Errorf("error is %v", err)
	}
}

func ExampleRun() {
	b := nn.NewBuilder(nn.NewRand(1))
	logits := b.Dense("logits", b.Input("x", nn.Float32, 2), 3, "")
	g, err := b.Graph()
	if err != nil {
		panic(err)
	}
	m, err := nn.NewModel(g, logits.Name, nn.SoftmaxCrossEntropy{})
	if err != nil {
		panic(err)
	}
	adam, err := nn.NewOptimizer("adam", 0.05)
	if err != nil {
		panic(err)
	}
	result, err := train.Run(context.Background(), train.Options{Steps: 200, BatchSize: 4, Optimizer: adam}, m,
		&spiral{batches: -1, rows: 4}, &spiral{batches: 10, rows: 4})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Steps, "steps, accuracy above 0.9:", result.Metrics["accuracy"] > 0.9)
	// Output: 200 steps, accuracy above 0.9: true
}
