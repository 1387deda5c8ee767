package join

import (
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Past is what the log holds of one run, as far as its join follows from it.
type Past struct {
	facts   []pastFact
	refused map[string]bool  // by id of the fact that says so
	outcome *events.Recorded // the first thing that came of a job of the run's
	ended   *events.Recorded // that the run ended without one
}

type pastFact struct {
	Pinned
	refusal string // id of the fact that would say that this one was refused
}

// Add takes one more fact of the run, in the order of the log.
func (p *Past) Add(r events.Recorded) {
	if r.Err != nil {
		return
	}
	if r.Fact.Data.Kind() == events.KindTrainingFailed {
		if p.refused == nil {
			p.refused = map[string]bool{}
		}
		p.refused[r.Fact.ID] = true
	}
	if r.Fact.ID == events.EndedID(r.Fact.Pipeline, r.Fact.Run) {
		p.ended = &r
	}
	if p.outcome == nil && events.EndsJob(r.Fact) {
		p.outcome = &r
	}
	if fact, ok := Pin(r); ok && !bringsPipeline(r.Fact) {
		p.facts = append(p.facts, pastFact{fact, events.RefusedID(r.Fact)})
	}
}

// bringsPipeline says whether a fact is refused for its content, whenever it is handled.
func bringsPipeline(f events.Fact) bool { return len(events.RequestOf(f.Data).PipelineSpec) > 0 }

// Facts are those below a sequence, 0 for all, that were not refused when they came. One that was counts only if it was handled
// again since, which the run's join knows.
func (p *Past) Facts(until uint64) []Pinned {
	return p.where(func(f pastFact) bool { return !p.refused[f.refusal] && (until == 0 || f.Sequence < until) })
}

// Join is the run's join, not pinned, where the register has lost it. What came of a job tells which fact had completed the run: what
// was stored later did not count. A fact that had been refused must have been handled again where the run would have had no job
// without it.
func (p *Past) Join(spec pipeline.Pipeline, run string) Join {
	if p.outcome == nil {
		return Decide(spec, run, p.Facts(p.endedBy()))
	}
	last := p.completedBy()
	j := Decide(spec, run, p.Facts(last+1))
	if j.State == Waiting && !j.Ready(spec) {
		j = Decide(spec, run, p.where(func(f pastFact) bool { return f.Sequence <= last }))
	}
	return j
}

// endedBy is the sequence behind the last fact that counted for a run that ended without a job; 0 if it hasn't, or if nothing is known
// of that.
func (p *Past) endedBy() uint64 {
	if p.ended == nil {
		return 0
	}
	if failed, ok := p.ended.Fact.Data.(*events.TrainingFailed); ok && failed.Through != 0 {
		return failed.Through + 1
	}
	return 0
}

// Ended is the run's join if the log says that the run ended without a job.
func (p *Past) Ended(j Join) (Join, bool) {
	if p.ended == nil {
		return j, false
	}
	failed, ok := p.ended.Fact.Data.(*events.TrainingFailed)
	if !ok {
		return j, false
	}
	return j.End(failed.Reason, failed.Message, p.ended.Fact.Time).Told(), true
}

// Outcome is the first fact that tells what came of a job of the run's; false if there is none.
func (p *Past) Outcome() (events.Recorded, bool) {
	if p.outcome == nil {
		return events.Recorded{}, false
	}
	return *p.outcome, true
}

// completedBy is the sequence of the fact that the outcome names as its cause; that of the outcome if it names none.
func (p *Past) completedBy() uint64 {
	last := p.outcome.Message.Sequence
	for _, fact := range p.facts {
		if fact.Sequence < p.outcome.Message.Sequence && events.CausedBy(p.outcome.Fact, fact.Cause) {
			last = fact.Sequence
		}
	}
	return last
}

func (p *Past) where(counts func(pastFact) bool) (facts []Pinned) {
	for _, fact := range p.facts {
		if counts(fact) {
			facts = append(facts, fact.Pinned)
		}
	}
	return facts
}
