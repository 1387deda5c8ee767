package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Rule names a promise.
type Rule string

// The promises.
const (
	OneModel         Rule = "one model for each cause"
	OneOutcome       Rule = "one outcome for each cause"
	OneEnd           Rule = "no model of a run that has ended"
	Caused           Rule = "a model names the event that completed its run"
	Kept             Rule = "an acknowledged event is in the log, once"
	Outcome          Rule = "every event has an outcome, or a wait that is named"
	NoDeadLetter     Rule = "no event of an applied pipeline is a dead letter"
	Announced        Rule = "a job that is given up is announced"
	JoinFollows      Rule = "a join follows from the log"
	NotTooEarly      Rule = "no run expires early"
	NotForever       Rule = "a run expires when it should"
	CancelHolds      Rule = "a cancel that reports an end has ended the run"
	PauseHolds       Rule = "no run of a paused pipeline gets a job"
	GateHasReason    Rule = "a gate holds runs up for a reason"
	QueueEmpty       Rule = "the queue is empty in the end"
	Readable         Rule = "every message of the log is an event"
	Trains           Rule = "a run that nothing stops is trained"
	FailsMeant       Rule = "no run fails that was not meant to"
	DeadLettersMeant Rule = "every dead letter is accounted for"
	LeasesFree       Rule = "no lease of a job on the queue is held in the end"
)

// Violation is a promise that is not kept.
type Violation struct {
	Rule    Rule
	Run     Run // zero if none is concerned
	Detail  string
	Pending bool // time may still mend it
}

func (v Violation) String() string {
	if v.Run == (Run{}) {
		return fmt.Sprintf("%s: %s", v.Rule, v.Detail)
	}
	return fmt.Sprintf("%s: run %s: %s", v.Rule, v.Run, v.Detail)
}

// Check returns every violation of every promise, those of one run together. If the bus is still in
// use, pending ones are no violations yet.
func (h History) Check() []Violation {
	c := checker{History: h, runs: map[Run]*story{}}
	for _, e := range h.Events {
		c.story(e.Run).add(e)
	}
	for _, join := range h.Joins {
		c.story(Run{join.Pipeline, join.Run})
	}
	byName := func(a, b Run) int { return strings.Compare(a.String(), b.String()) }
	for _, run := range slices.SortedFunc(maps.Keys(c.runs), byName) {
		c.run(run, c.runs[run])
	}
	c.published()
	c.operations()
	c.deadLetters()
	c.leftovers()
	c.intended()
	return c.found
}

// checker collects violations.
type checker struct {
	History
	runs  map[Run]*story
	found []Violation
}

// story is what the log holds of one run, in its order.
type story struct {
	inputs []Event
	models []Event
	failed []Event // by workers: a job was given up or cancelled
	ends   []Event // by dispatchers: the run ended without a job
}

func (c *checker) story(run Run) *story {
	if c.runs[run] == nil {
		c.runs[run] = &story{}
	}
	return c.runs[run]
}

func (s *story) add(e Event) {
	switch {
	case e.Kind == modelTrained:
		s.models = append(s.models, e)
	case e.Kind == trainingFailed && e.Source == workerSource:
		s.failed = append(s.failed, e)
	case e.Kind == trainingFailed && e.Source == dispatcherSource && e.ID == endedID(e.Run):
		s.ends = append(s.ends, e)
	case slices.Contains([]string{examplesReady, transformReady, hparamsReady}, e.Kind):
		s.inputs = append(s.inputs, e)
	}
}

func (s *story) over() bool { return len(s.models)+len(s.failed)+len(s.ends) > 0 }

func (c *checker) report(rule Rule, run Run, pending bool, format string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Run: run, Detail: fmt.Sprintf(format, args...), Pending: pending})
}

// run checks one run.
func (c *checker) run(run Run, s *story) {
	c.outcomes(run, s)
	revisions := c.Pipelines[run.Pipeline]
	if len(revisions) == 0 {
		return
	}
	join, known := c.Joins[run.String()]
	spec := revisions[len(revisions)-1].Spec
	for _, r := range revisions {
		if known && r.Revision == join.training().Revision {
			spec = r.Spec
		}
	}
	decided := decide(spec, s.inputs, 0)
	if !known {
		if len(s.inputs) > 0 && spec.starts(s.inputs) {
			c.report(Outcome, run, true, "it has events and no join")
		}
		return
	}
	c.join(run, s, join, spec, decided)
	c.waits(run, s, join, decided)
	c.expiry(run, s, join, spec)
}

// outcomes checks the events that announce the outcome of a run.
func (c *checker) outcomes(run Run, s *story) {
	byCause := map[string][]Event{}
	for _, e := range s.models {
		byCause[e.cause()] = append(byCause[e.cause()], e)
	}
	for _, cause := range slices.Sorted(maps.Keys(byCause)) {
		if n := len(byCause[cause]); n > 1 {
			c.report(OneModel, run, false, "%d models were announced for cause %s", n, cause)
		}
	}
	if len(s.ends) > 1 {
		c.report(OneOutcome, run, false, "its end was announced %d times", len(s.ends))
	}
	for _, end := range s.ends {
		for _, e := range slices.Concat(s.models, s.failed) {
			when := "before"
			if e.Sequence > end.Sequence {
				when = "after"
			}
			c.report(OneEnd, run, false, "%s %d was announced %s its end %d", e.Kind, e.Sequence, when, end.Sequence)
		}
	}
	for i, failure := range s.failed {
		for _, e := range slices.Concat(s.models, s.failed[i+1:]) {
			if e.Causation == failure.Causation && e.Data.Request == failure.Data.Request {
				c.report(OneOutcome, run, false, "%s %d and %s %d were announced for cause %s", failure.Kind, failure.Sequence, e.Kind, e.Sequence, e.Causation)
			}
		}
	}
}

// cause returns the expected causation of an event that announces a result: the event that led to
// the job, or the request to repeat it. The execution is no part of it: two executions for one
// cause are two models.
func (e Event) cause() string {
	return fmt.Sprintf("%s generation %d salt %q request %q", e.Causation, e.Data.Generation, e.Data.Salt, e.Data.Request)
}

// join compares an entry of JOINS with what follows from the log.
func (c *checker) join(run Run, s *story, join Join, spec Spec, decided decision) {
	if (join.State == "ended") != (len(s.ends) > 0) {
		c.report(JoinFollows, run, true, "its join is %s, and the log has %d announcements of its end", join.State, len(s.ends))
		return
	}
	if join.State == "ended" {
		decided = decide(spec, s.inputs, s.ends[0].Data.Through)
	}
	var have, want []uint64
	for _, f := range join.Events {
		have = append(have, f.Sequence)
	}
	for _, e := range decided.events {
		want = append(want, e.Sequence)
	}
	if !slices.Equal(have, want) {
		c.report(JoinFollows, run, join.State == "waiting", "its join is %s with events %v, and by the log it has %v", join.State, have, want)
	}
	pinned := join.State == "complete" || join.State == "dispatched"
	if pinned && !decided.ready {
		c.report(JoinFollows, run, false, "its join is %s, and by the log it waits for %v", join.State, decided.missing)
	}
	if join.State == "waiting" && decided.ready {
		c.report(JoinFollows, run, true, "its join waits, and by the log nothing is missing")
	}
	if join.State == "ended" && join.Ending != nil && join.Ending.Kind == "incomplete" && decided.ready {
		c.report(NotTooEarly, run, false, "it ended as incomplete, and events up to %d complete it", s.ends[0].Data.Through)
	}
	for _, model := range s.models {
		if n := len(decided.events); n > 0 && pinned && model.Causation != decided.events[n-1].ID {
			c.report(Caused, run, false, "model %d names %s as its cause, and event %d completed the run", model.Sequence, model.Causation, want[n-1])
		}
	}
}

// waits demands a reason of a run that has no outcome.
func (c *checker) waits(run Run, s *story, join Join, decided decision) {
	switch {
	case s.over() || join.State == "waiting" && !decided.ready:
	case join.State == "complete" && c.Gates[run.Pipeline].waits(run.Run):
	default:
		c.report(Outcome, run, true, "its join is %s, and nothing says what became of it", join.State)
	}
}

// slack is how much later than its time a run must have expired, in addition to the skew of
// servers.
const slack = time.Minute

// expiry judges by the publishers' clock, which no server disturbs.
func (c *checker) expiry(run Run, s *story, join Join, spec Spec) {
	after, bounded := spec.expireAfter()
	first, last := c.sent(run, s)
	if first.IsZero() {
		return
	}
	if len(s.ends) > 0 && s.ends[0].Data.Reason == "incomplete" && (!bounded || c.Now.Sub(first) < after) {
		c.report(NotTooEarly, run, false, "it ended as incomplete within %s of its first event, and may wait for %s",
			c.Now.Sub(first).Round(time.Second), spec.Trainer.ExpireAfter)
	}
	if bounded && join.State == "waiting" && c.Now.Sub(last) > after+slack+c.Skew {
		c.report(NotForever, run, true, "it has waited for %s, and may wait for %s", c.Now.Sub(last).Round(time.Second), spec.Trainer.ExpireAfter)
	}
}

// sent returns when the first event of a run was sent, and when the last one was.
func (c *checker) sent(run Run, s *story) (first, last time.Time) {
	for _, p := range c.Published {
		if p.Run != run {
			continue
		}
		if first.IsZero() || p.Sent.Before(first) {
			first = p.Sent
		}
		if p.Sent.After(last) {
			last = p.Sent
		}
	}
	return first, last
}

// published checks that the log has every event that was acknowledged to its publisher.
func (c *checker) published() {
	type identity struct {
		Run
		kind, source, id string
	}
	stored := map[identity][]Event{}
	for _, e := range c.Events {
		if slices.Contains(c.Spoiled, e.Subject) {
			continue
		}
		key := identity{e.Run, e.Kind, e.Source, e.ID}
		stored[key] = append(stored[key], e)
	}
	for key, all := range stored {
		if len(all) > 1 {
			c.report(Kept, key.Run, false, "%s %s is in the log %d times", key.kind, key.id, len(all))
		}
	}
	for _, p := range c.Published {
		all := stored[identity{p.Run, p.Kind, p.Source, p.ID}]
		if len(all) == 0 {
			c.report(Kept, p.Run, false, "%s %s was acknowledged as %d and is not in the log", p.Kind, p.ID, p.Sequence)
		} else if all[0].Sequence != p.Sequence {
			c.report(Kept, p.Run, false, "%s %s was acknowledged as %d and is in the log as %d", p.Kind, p.ID, p.Sequence, all[0].Sequence)
		}
	}
}

// operations checks the answers that operators got.
func (c *checker) operations() {
	for _, run := range c.Cancelled {
		if len(c.story(run).ends) == 0 {
			c.report(CancelHolds, run, false, "its end is not announced")
		}
	}
	for _, name := range c.Held {
		for _, join := range c.Joins {
			if run := (Run{join.Pipeline, join.Run}); run.Pipeline == name && join.State == "dispatched" {
				c.report(PauseHolds, run, false, "it has job %s", join.training().Job)
			}
		}
	}
}

// deadLetters checks the dead letters.
func (c *checker) deadLetters() {
	for _, deadLetter := range c.DeadLetters {
		if deadLetter.Advisory { // of the server, about a message that may be gone
			continue
		}
		run := runOf(deadLetter.Subject)
		switch deadLetter.Stream {
		case "EVENTS":
			if len(c.Pipelines[run.Pipeline]) > 0 && !slices.Contains(c.Spoiled, deadLetter.Subject) {
				c.report(NoDeadLetter, run, false, "event %d on %s: %s", deadLetter.Sequence, deadLetter.Subject, deadLetter.Reason)
			}
		case "JOBS":
			job := deadLetter.Subject[strings.LastIndexByte(deadLetter.Subject, '.')+1:]
			for _, join := range c.Joins {
				if r := (Run{join.Pipeline, join.Run}); join.training().Job == job && len(c.runs[r].failed) == 0 {
					c.report(Announced, r, true, "job %s is a dead letter, and no failure is announced", job)
				}
			}
		}
	}
}

// intended checks that the outcomes of runs are intended ones, as far as those are known.
func (c *checker) intended() {
	for _, e := range c.Events {
		if e.Kind == unreadable && !slices.Contains(c.Spoiled, e.Subject) {
			c.report(Readable, e.Run, false, "message %d on %s is no CloudEvent in binary mode", e.Sequence, e.Subject)
		}
	}
	if c.Intended == nil {
		return
	}
	for _, run := range c.Intended.Trained {
		if len(c.story(run).models) == 0 {
			c.report(Trains, run, true, "it has no model")
		}
	}
	for _, e := range c.Events {
		c.failure(e)
	}
	c.accounts()
}

// failure checks one event that announces the failure of a run, or of the search for its
// hyperparameters.
func (c *checker) failure(e Event) {
	if e.Kind != trainingFailed && e.Kind != tuningFailed || len(c.Pipelines[e.Pipeline]) == 0 || c.Intended.Failing[e.Run] {
		return
	}
	cancelled := e.Data.Reason == "cancelled" && c.Intended.Stopped[e.Run]
	expired := e.Data.Reason == "incomplete" && e.ID == endedID(e.Run) // expiry judges that
	if !cancelled && !expired {
		c.report(FailsMeant, e.Run, false, "%s %d: %s: %s", e.Kind, e.Sequence, e.Data.Reason, e.Data.Message)
	}
}

// accounts checks that each malformed message has one dead letter, and that the others are of jobs
// that were intended to fail.
func (c *checker) accounts() {
	deadLetters := map[string]int{}
	for _, deadLetter := range c.DeadLetters {
		if deadLetter.Advisory {
			continue
		}
		deadLetters[deadLetter.Subject]++
		if deadLetter.Stream == "JOBS" && !slices.Contains(c.Spoiled, deadLetter.Subject) && !c.Intended.Failing[deadLetter.Run] {
			c.report(DeadLettersMeant, deadLetter.Run, false, "job %d on %s: %s", deadLetter.Sequence, deadLetter.Subject, deadLetter.Reason)
		}
	}
	// The publisher of malformed messages publishes again if the answer is lost.
	stored := map[string]int{}
	for _, e := range c.Events {
		stored[e.Subject]++
	}
	for _, subject := range c.Spoiled {
		if want := max(1, stored[subject]); deadLetters[subject] != want {
			c.report(DeadLettersMeant, runOf(subject), true, "%s has %d dead letters, want %d", subject, deadLetters[subject], want)
		}
	}
}

// leftovers checks that temporary entries have been removed in the end.
func (c *checker) leftovers() {
	for _, subject := range c.Jobs {
		c.report(QueueEmpty, Run{}, true, "%s is on the queue", subject)
	}
	// A worker that dies between acknowledging its job and removing the lease leaves one.
	for _, job := range slices.Sorted(maps.Keys(c.Leases)) {
		queued := slices.ContainsFunc(c.Jobs, func(subject string) bool { return strings.HasSuffix(subject, "."+job) })
		if holder := c.Leases[job].Holder; holder != "" && queued {
			c.report(LeasesFree, Run{}, true, "attempt %s holds job %s", holder, job)
		}
	}
	for name, gate := range c.Gates {
		revisions := c.Pipelines[name]
		if gate.Paused || len(gate.Waiting) == 0 || len(revisions) == 0 {
			continue
		}
		limit := revisions[len(revisions)-1].Spec.Concurrency
		if limit == nil || len(gate.Admitted) < limit.Runs {
			c.report(GateHasReason, Run{Pipeline: name, Run: gate.Waiting[0].Run}, true, "%d runs wait, %d go on, and it is not paused", len(gate.Waiting), len(gate.Admitted))
		}
	}
}

// decision is what follows from the events of a run.
type decision struct {
	events  []Event // the first of each kind, up to the one that completes the run
	missing []string
	ready   bool
}

// decide goes through the inputs of a run in the order of the log, up to a sequence, 0 for all.
func decide(spec Spec, inputs []Event, through uint64) decision {
	d := decision{missing: spec.kinds()}
	seen := map[string]bool{}
	for _, e := range inputs {
		if through > 0 && e.Sequence > through {
			break
		}
		if seen[e.Kind] || e.Kind == hparamsReady && spec.Trainer.Hyperparameters == "none" {
			continue
		}
		seen[e.Kind] = true
		d.events = append(d.events, e)
		d.missing = slices.DeleteFunc(d.missing, func(kind string) bool { return kind == e.Kind })
		if d.ready = len(d.missing) == 0; d.ready {
			break
		}
	}
	return d
}

func (s Spec) kinds() (kinds []string) {
	for _, word := range s.Trainer.WaitFor {
		kinds = append(kinds, word+".ready")
	}
	return kinds
}

// starts reports whether a run waits for any of the events: hyperparameters that it doesn't wait
// for begin none.
func (s Spec) starts(inputs []Event) bool {
	return slices.ContainsFunc(inputs, func(e Event) bool {
		return e.Kind != hparamsReady || slices.Contains(s.kinds(), hparamsReady)
	})
}

func (s Spec) expireAfter() (time.Duration, bool) {
	after, err := time.ParseDuration(s.Trainer.ExpireAfter)
	return after, err == nil
}

// endedID returns the id of the event that announces the end of a run without a job: half a SHA-256
// of the words "ended", pipeline and run, each with its length.
func endedID(run Run) string {
	hash := sha256.New()
	for _, part := range []string{"ended", run.Pipeline, run.Run} {
		fmt.Fprintf(hash, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
