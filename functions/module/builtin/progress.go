package builtin

import (
	"time"

	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// progress passes on what the loop reports, but not too often.
type progress struct {
	report func(module.Message)
	now    func() time.Time
	last   time.Time
	phase  train.Phase
	trial  bool // metrics are those of evaluations, which have a loss too
}

// pause between two reports: 20 a second are enough for any eye.
const pause = 50 * time.Millisecond

// take passes on the first and the last report of a phase, and those in between that come after a pause.
func (p *progress) take(r train.Progress) {
	now := p.now()
	if p.phase == r.Phase && now.Sub(p.last) < pause && (r.Step != r.Steps || r.Steps == 0) {
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

func (p *progress) checkpointed(step int) {
	p.report(module.Message{Type: module.MessageCheckpoint, Step: step})
}
