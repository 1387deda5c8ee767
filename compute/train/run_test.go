package train_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/nn/plan"
	"github.com/stoker-ml/stoker/compute/train"
)

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

func TestATrainingTakesItsStepsOnTheMachineItIsGiven(t *testing.T) {
	t.Parallel()
	full := errors.New("the device is full")
	o := options(3)
	o.Machines = func(*plan.Plan) (plan.Machine, error) { return nil, full }
	if _, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil); !errors.Is(err, full) {
		t.Errorf("error is %v, expected %v", err, full)
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
	adam, err := optim.New("adam", 0.05)
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
