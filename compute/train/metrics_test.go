package train_test

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/train"
)

// fixed yields its batches once.
type fixed []nn.Batch

func (f *fixed) Next(context.Context) (nn.Batch, error) {
	if len(*f) == 0 {
		return nn.Batch{}, io.EOF
	}
	b := (*f)[0]
	*f = (*f)[1:]
	return b, nil
}

// identity is a model whose logits are its input plus a bias of 0.
func identity(t *testing.T, loss nn.Loss, width int) *nn.Model {
	t.Helper()
	m := build(t, loss, func(b *nn.Builder) nn.Ref {
		return b.Dense("logits", b.Input("x", nn.Float32, width), width, "")
	})
	clear(m.Weights())
	for i := range width {
		m.Weights()[i*width+i] = 1
	}
	return m
}

type metricCase struct {
	Loss      string       `json:"loss"`
	Width     int          `json:"width"`
	Logits    []float32    `json:"logits"`
	Targets   []float32    `json:"targets"`
	Weights   []float32    `json:"weights"`
	Reduction nn.Reduction `json:"reduction"`
}

// kerasMetrics rounds the probabilities of the area below the ROC curve down and raises the
// thresholds a little, as TensorFlow Model Analysis does; keras_auc is Keras's own, in float32 as
// by default. Everything else is summed in float64, because float32 is off by some 1e-6 after 400
// rows. Probabilities are float32, as they are served.
const kerasMetrics = `
def check(c):
    k = tf.keras
    keras_auc = k.metrics.AUC()
    k.backend.set_floatx("float64")
    z = np.array(c["logits"], np.float32).reshape(-1, c["width"])
    t = np.array(c["targets"], np.float64).reshape(-1, c["width"])
    w = None if c["weights"] is None else np.array(c["weights"], np.float64)
    def value(metric, p):
        metric.update_state(t, tf.cast(p, tf.float64), sample_weight=w)
        return float(metric.result())
    x = z.astype(np.float64)
    reduction = ["mean_with_sample_weight", "sum_over_batch_size"][c["reduction"]]
    def loss(of, **more):
        return float(of(reduction=reduction, **more)(t, x, sample_weight=w))
    out = {"example_count": len(z)}
    if w is not None:
        out["weighted_example_count"] = float(np.sum(w))
    if c["loss"] == "categorical_crossentropy":
        return out | {"loss": loss(k.losses.CategoricalCrossentropy, from_logits=True), "accuracy": value(k.metrics.CategoricalAccuracy(), z)}
    if c["loss"] == "binary_crossentropy":
        p = tf.sigmoid(z)
        keras_auc.update_state(t.astype(np.float32), p, sample_weight=None if w is None else w.astype(np.float32))
        return out | {"loss": loss(k.losses.BinaryCrossentropy, from_logits=True),
                "accuracy": value(k.metrics.BinaryAccuracy(), p), "auc": value(k.metrics.AUC(num_thresholds=10000), np.maximum(np.floor(p.numpy().astype(np.float64) * 10000) / 10000 - 1e-7, 0)),
                "precision": value(k.metrics.Precision(), p), "recall": value(k.metrics.Recall(), p), "keras_auc": float(keras_auc.result())}
    of = {"mean_squared_error": k.losses.MeanSquaredError, "mean_absolute_error": k.losses.MeanAbsoluteError, "huber": k.losses.Huber}
    return out | {"loss": loss(of[c["loss"]]), "mae": value(k.metrics.MeanAbsoluteError(), z), "rmse": value(k.metrics.RootMeanSquaredError(), z)}
`

// tolerances of metrics for which 1e-6 is not enough: Keras sums its AUC in float32.
var tolerances = map[string]float64{"keras_auc": 5e-6}

func compareMetrics(t *testing.T, c metricCase) {
	t.Helper()
	var want map[string]float64
	tftest.Run(t, kerasMetrics, c, &want)
	got := evaluateCase(t, c)
	if len(got) != len(want) {
		t.Errorf("got %v, Keras has %v", got, want)
	}
	for name := range want {
		// Differences and probabilities are float32 here: 6e-8 relative each.
		if math.Abs(got[name]-want[name]) > max(1e-6, tolerances[name])*max(1, want[name]) {
			t.Errorf("%s is %v, Keras has %v", name, got[name], want[name])
		}
	}
}

func TestMetricsAreKeras(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	const rows = 400
	for _, c := range []metricCase{
		{Loss: "categorical_crossentropy", Width: 3}, {Loss: "binary_crossentropy", Width: 1}, {Loss: "mean_squared_error", Width: 2},
		{Loss: "mean_absolute_error", Width: 1}, {Loss: "huber", Width: 1},
	} {
		for r := range rows {
			class, spread := rng.IntN(max(c.Width, 2)), 3.0
			if r%3 == 0 { // close to each other, on few thresholds
				spread = 1e-3
			}
			for j := range c.Width {
				target := float32(0)
				if class == j {
					target = 1
				}
				c.Targets = append(c.Targets, target)
				c.Logits = append(c.Logits, float32((rng.NormFloat64()+float64(target))*spread))
			}
			// Extremes: the outer thresholds, 0.5 itself, and probabilities of 0.99905 and 0.99915,
			// which share a threshold.
			if edges := []float32{60, -60, 0, 6.959, 7.07, 6.959, 7.07, 6.959, 7.07, 6.959, 7.07}; r < len(edges) {
				c.Logits[r*c.Width] = edges[r]
			}
		}
		unweighted := c
		t.Run(c.Loss, func(t *testing.T) {
			t.Parallel()
			compareMetrics(t, unweighted)
		})
		for range rows { // some have weight 0
			c.Weights = append(c.Weights, float32(max(rng.Float64()*3-0.3, 0)))
		}
		for name, reduction := range map[string]nn.Reduction{"mean": nn.WeightedMean, "sum": nn.SumOverBatchSize} {
			weighted := c
			weighted.Reduction = reduction
			t.Run(c.Loss+" weighted "+name, func(t *testing.T) {
				t.Parallel()
				compareMetrics(t, weighted)
			})
		}
	}
}

// evaluateCase evaluates in batches of 7, the last one shorter.
func evaluateCase(t *testing.T, c metricCase) map[string]float64 {
	t.Helper()
	loss, err := nn.LossNamed(c.Loss)
	if err != nil {
		t.Fatal(err)
	}
	var batches fixed
	for step := 7 * c.Width; len(c.Logits) > 0; c.Logits, c.Targets = c.Logits[step:], c.Targets[step:] {
		step = min(step, len(c.Logits))
		batch := nn.Batch{
			Rows: step / c.Width, Targets: c.Targets[:step],
			Inputs: map[string]nn.Value{"x": nn.Floats(c.Width, c.Logits[:step]...)},
		}
		if c.Weights != nil {
			batch.Weights, c.Weights = c.Weights[:batch.Rows], c.Weights[batch.Rows:]
		}
		batches = append(batches, batch)
	}
	m := identity(t, loss, c.Width)
	m.Reduction = c.Reduction
	got, err := train.Evaluate(t.Context(), m, &batches, 0)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// If the divisor is 0, Keras returns 0, and so does this package.
func TestMetricsOfOneKindOfRowsAreKeras(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]metricCase{
		"no yes":      {Targets: []float32{0, 0, 0}, Logits: []float32{1, -1, 2}},
		"no no":       {Targets: []float32{1, 1, 1}, Logits: []float32{1, -1, 2}},
		"none said":   {Targets: []float32{0, 1, 0}, Logits: []float32{-1, -1, -2}},
		"all are 0.5": {Targets: []float32{0, 1, 0}, Logits: []float32{0, 0, 1e-9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Loss, c.Width = "binary_crossentropy", 1
			compareMetrics(t, c)
		})
	}
}
