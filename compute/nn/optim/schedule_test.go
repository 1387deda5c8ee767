package optim_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// words are Keras's arguments.
type words map[string]any

var schedules = map[string][]words{
	"Constant": {{"initial_learning_rate": 0.5}},
	"CosineDecay": {
		{"initial_learning_rate": 0.1, "decay_steps": 40, "alpha": 0.1},
		{"initial_learning_rate": 0.01, "decay_steps": 40, "warmup_target": 0.2, "warmup_steps": 10},
	},
	"CosineDecayRestarts": {
		{"initial_learning_rate": 0.1, "first_decay_steps": 10},
		{"initial_learning_rate": 0.1, "first_decay_steps": 7, "t_mul": 1.0, "m_mul": 0.8, "alpha": 0.05},
	},
	"ExponentialDecay": {
		{"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5},
		{"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5, "staircase": true},
	},
	"InverseTimeDecay": {
		{"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5},
		{"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5, "staircase": true},
	},
	"PiecewiseConstantDecay": {{"boundaries": []int{5, 20, 30}, "values": []float64{0.1, 0.05, 0.2, 0.01}}},
	"PolynomialDecay": {
		{"initial_learning_rate": 0.1, "decay_steps": 30},
		{"initial_learning_rate": 0.1, "decay_steps": 15, "end_learning_rate": 0.01, "power": 2.0, "cycle": true},
	},
}

func TestSchedulesAreKerass(t *testing.T) {
	t.Parallel()
	var want map[string][][]float64
	asked := map[string][]words{}
	for name, all := range schedules {
		if name != "Constant" { // Keras has no such class
			asked[name] = all
		}
	}
	tftest.Run(t, `
def check(asked):
    made = {n: [getattr(tf.keras.optimizers.schedules, n)(**c) for c in cs] for n, cs in asked.items()}
    return {n: [[float(s(tf.constant(i, tf.int64))) for i in range(64)] for s in ss] for n, ss in made.items()}
`, asked, &want)
	for name, all := range schedules {
		for i, config := range all {
			text, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			s, err := optim.NewSchedule(name, text)
			if err != nil {
				t.Fatal(err)
			}
			for step := range 64 {
				expected := 0.5
				if name != "Constant" {
					expected = want[name][i][step]
				}
				// Keras computes in float32: the cosine of a number near pi/2 loses what is left of
				// 7 digits.
				if got := s.Rate(int64(step)); math.Abs(got-expected) > 1e-6*0.2 {
					t.Errorf("%s %s: step %d has %v, Keras %v", name, text, step, got, expected)
				}
			}
		}
	}
}

func TestSchedulesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{
		`unknown learning rate schedule "Cosine": expected Constant, CosineDecay, CosineDecayRestarts, ExponentialDecay, ` +
			`InverseTimeDecay, PiecewiseConstantDecay or PolynomialDecay`: {"Cosine", "{}"},
		`learning rate schedule CosineDecay: decay_steps 0: expected a number above 0`: {"CosineDecay", `{"initial_learning_rate": 1}`},
		`learning rate schedule CosineDecay: unknown field "steps", expected some of initial_learning_rate, decay_steps, alpha, ` +
			`warmup_target, warmup_steps`: {"CosineDecay", `{"steps": 1}`},
		`learning rate schedule CosineDecay: decay_steps: expected no string`:                          {"CosineDecay", `{"decay_steps": "many"}`},
		`learning rate schedule Constant: initial_learning_rate -1: expected a number from 0 to 1e+06`: {"Constant", `{"initial_learning_rate": -1}`},
		`learning rate schedule PiecewiseConstantDecay: boundaries [2 1] and values [1 2 3]: expected boundaries that rise, ` +
			`and one more value than those`: {"PiecewiseConstantDecay", `{"boundaries": [2, 1], "values": [1, 2, 3]}`},
		`learning rate schedule ExponentialDecay: decay_rate 0: expected a number above 0`: {
			"ExponentialDecay", `{"initial_learning_rate": 1, "decay_steps": 1}`},
	} {
		if _, err := optim.NewSchedule(c[0], []byte(c[1])); err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}
