package kernel

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

const kerasSteps = 20

// kerasOptimizers are the rules of everyRule in Keras.
var kerasOptimizers = map[string]string{
	"sgd":                       "SGD(0.1, weight_decay=0.1)",
	"momentum":                  "SGD(0.1, momentum=0.9)",
	"nesterov":                  "SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.01)",
	"adam":                      "Adam(0.01)",
	"adamw":                     "AdamW(0.01, weight_decay=0.4)",
	"adagrad":                   "Adagrad(0.1)",
	"rmsprop":                   "RMSprop(0.01)",
	"rmsprop momentum":          "RMSprop(0.01, momentum=0.8)",
	"rmsprop centered":          "RMSprop(0.01, centered=True)",
	"rmsprop centered momentum": "RMSprop(0.01, centered=True, momentum=0.8)",
	"ftrl":                      "Ftrl(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02)",
}

func TestRulesAreThoseOfKeras(t *testing.T) {
	t.Parallel()
	const n = 50
	r := seeded(6)
	start, grads := random(r, n), make([][]float32, kerasSteps)
	for i := range grads {
		grads[i] = random(r, n)
		grads[i][i] = 0
		grads[i][i+1] *= 1e-4
	}
	var want map[string][]float64
	tftest.Run(t, `
import keras
def check(given):
    answer = {}
    for name, code in given["Optimizers"].items():
        optimizer = eval("keras.optimizers." + code)
        w = keras.Variable(np.array(given["Start"], np.float32))
        for g in given["Grads"]:
            optimizer.apply([tf.constant(g, tf.float32)], [w])
        answer[name] = w.numpy()
    return answer
`, map[string]any{"Optimizers": kerasOptimizers, "Start": start, "Grads": grads}, &want)
	for name, rule := range everyRule() {
		for _, isa := range isas() {
			got := trained(isa, rule, start, grads)
			near(t, name+" at "+isa.String(), got, want[name], 1e-6)
		}
	}
}

// trained returns the weights after all steps, with slots that start as in Keras.
func trained(isa ISA, rule Rule, start []float32, grads [][]float32) []float32 {
	w, slots := append([]float32{}, start...), [MaxSlots][]float32{}
	for i := range slots {
		slots[i] = make([]float32, len(start))
		if (rule.Formula == Adagrad || rule.Formula == FTRL) && i == 0 {
			fillWith(slots[i], 0.1)
		}
	}
	rate := rule.Numbers[0]
	for i, g := range grads {
		if rule.Formula == Adam {
			rule.Numbers[0] = kerasAlpha(rate, i+1)
		}
		s := newStep(rule)
		s.w, s.g, s.slots = w, g, slots
		s.do(isa, 0, len(start))
	}
	return w
}

// kerasAlpha returns the rate of Adam at step t as Keras computes it: with float32 powers of its
// default betas.
func kerasAlpha(rate float64, t int) float64 {
	power := func(beta float32) float32 { return float32(math.Pow(float64(beta), float64(t))) }
	return float64(float32(rate) * Sqrt.Of(1-power(0.999)) / (1 - power(0.9)))
}
