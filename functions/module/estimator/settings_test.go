package estimator

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/functions/module"
)

// reported are the settings of a training in its messages.
type reported struct {
	Activation    nn.Op   `json:"dnn_activation"`
	Dropout       float64 `json:"dnn_dropout"`
	HiddenUnits   []int   `json:"dnn_hidden_units"`
	NClasses      int     `json:"n_classes"`
	BatchSize     int     `json:"batch_size"`
	ShuffleBuffer int     `json:"shuffle_buffer"`
	TrainSteps    int     `json:"train_steps"`
	EvalSteps     int     `json:"eval_steps"`
	Seed          int64   `json:"seed"`
	Optimizers    struct {
		DNN    optim.Adagrad `json:"dnn"`
		Linear optim.FTRL    `json:"linear"`
	} `json:"optimizer_config"`
	CustomConfig map[string]any `json:"custom_config"`
}

// heard keeps the settings in messages.
type heard struct {
	stopAt
	settings reported
}

func (h *heard) Write(line []byte) (int, error) {
	var m module.Message
	if json.Unmarshal(line, &m) == nil && m.Type == module.MessageSettings {
		if err := json.Unmarshal(m.Settings, &h.settings); err != nil {
			return 0, err
		}
	}
	return len(line), nil
}

// An Estimator that sets everything that another one leaves to defaults gives the same model, to
// the byte.
func TestATrainingFromTheSettingsThatWereReportedIsTheSame(t *testing.T) {
	t.Parallel()
	train := func(change func(*Spec, *DNNLinearCombinedClassifier)) (reported, map[string]string) {
		t.Helper()
		a := assignment(t, 20)
		a.Seed, a.CustomConfig = 7, map[string]any{"note": "mine"}
		line, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var out heard
		if err := module.Serve(t.Context(), bytes.NewReader(append(line, '\n')), &out, Module(small(change))); err != nil {
			t.Fatal(err)
		}
		model := files(t, a.ServingModelDir)
		maps.DeleteFunc(model, func(name, _ string) bool { return name == "fingerprint.pb" })
		return out.settings, model
	}
	defaults, first := train(nil)
	if defaults.TrainSteps != 20 || defaults.EvalSteps != 2 || defaults.BatchSize != 40 || defaults.CustomConfig["note"] != "mine" || defaults.Seed != 7 {
		t.Errorf("reported %+v", defaults)
	}
	again, second := train(func(s *Spec, e *DNNLinearCombinedClassifier) {
		s.Train.Input.ShuffleBuffer = defaults.ShuffleBuffer
		e.DNNActivation, e.DNNDropout, e.DNNHiddenUnits, e.NClasses = defaults.Activation, defaults.Dropout, defaults.HiddenUnits, defaults.NClasses
		e.DNNOptimizer, e.LinearOptimizer = optim.NewSingle(&defaults.Optimizers.DNN), optim.NewSingle(&defaults.Optimizers.Linear)
		defaults.Optimizers.Linear.Warm = true // keep the weights of a base model
		e.Config.Seed = &defaults.Seed
	})
	if again.Activation != defaults.Activation || again.Optimizers.DNN.LearningRate != defaults.Optimizers.DNN.LearningRate || defaults.Optimizers.Linear.LearningRate == 0 {
		t.Errorf("reported %+v, then %+v", defaults, again)
	}
	if len(first) == 0 || !maps.Equal(first, second) {
		t.Errorf("the second model differs: %v, %v", first, second)
	}
}
