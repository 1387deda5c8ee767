package training

import (
	"maps"
	"time"

	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// progress forwards the reports of the loop, at most 20 times a second.
type progress struct {
	report func(module.Message)
	now    func() time.Time
	last   time.Time
	phase  train.Phase
	trial  bool // metrics are those of evaluations, which include a loss

	latest train.Progress // the last one of the loop, reported or not
}

const progressPause = 50 * time.Millisecond

// send reports the first and the last progress of a phase, and others after a pause.
func (p *progress) send(r train.Progress) {
	p.latest = r
	now := p.now()
	if p.phase == r.Phase && now.Sub(p.last) < progressPause && (r.Step != r.Steps || r.Steps == 0) {
		return
	}
	p.last, p.phase = now, r.Phase
	if p.trial && len(r.Metrics) > 0 {
		r.Metrics = map[string]float64{"train_loss": r.Metrics["loss"]}
	}
	p.report(module.Message{
		Type: module.MessageProgress, Phase: string(r.Phase), Step: r.Step, Steps: r.Steps, Metrics: r.Metrics,
	})
}

// validated reports the metrics of an evaluation after a training step, with the loss of that step
// if the loop has one.
func (p *progress) validated(step, steps int, metrics map[string]float64) {
	all := make(map[string]float64, len(metrics)+1)
	if p.latest.Step == step && p.latest.Phase == train.Training {
		maps.Copy(all, p.latest.Metrics)
	}
	for name, value := range metrics {
		all["val_"+name] = value
	}
	p.report(module.Message{Type: module.MessageProgress, Phase: string(train.Training), Step: step, Steps: steps, Metrics: all})
}
