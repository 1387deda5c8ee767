package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Study is what a log comes to. The zero value is that of an empty log. A copy of a Study is a
// study of its own, which Apply on either leaves alone; what it points to is never changed. It is
// not safe for several goroutines.
type Study struct {
	Config   Config   // with its defaults filled in, and with the parameters that were found later
	Trials   []*Trial // in the order they were begun. One that changes is another Trial in the same place
	Finished *Finished
	Requests []string  // who asked for it, in their order: see Begun
	Begun    time.Time // when the first entry was stored, by the bus's clock
	Opened   time.Time // when it was asked for last: MaxTime counts from here
	Last     time.Time // when the newest entry was stored
	Entries  int       // those that had an effect

	Skipped int // entries that don't continue the log, see Enter
	Dropped int // entries that continue it but contradict it, and have no effect

	head    string // the hash of the newest entry that continues the log
	failing int    // failed trials since one was completed, or since the study was asked for
	idle    int    // trials completed, or found infeasible, since one was better than all before it
	leader  int    // the place behind the best trial's; 0: none is
}

// Trial is one try of some values; several tries where the first failed.
type Trial struct {
	ID string
	Suggestion
	Status  Status
	Owner   Owner // while it runs
	Tries   int   // begun, the running one counted; those that were nobody's fault are not
	Metrics map[string]float64
	Curves  map[string][]Point
	Step    int
	Stopped int
	Message string
	Files   string
	Started time.Time
	Ended   time.Time

	// Origin is the hash of the entry that began the trial. Two trials of one number, of which the
	// bus has lost one, have different origins: what is stored of a trial outside the log is named
	// by both.
	Origin string

	key   string // of its values in the space as it is known now
	since int    // the entry that changed its status last
}

// Key is equal for trials of equal values: a parameter that was found later had its default before.
func (t *Trial) Key() string { return t.key }

// Since is the number of the entry that changed its status last. It orders trials as all see them
// who read the log, which times do not: those of one's own entries are known before the bus has
// said them.
func (t *Trial) Since() int { return t.since }

// Status of a trial, in KerasTuner's words where it has one.
type Status string

// The statuses.
const (
	Running    Status = "RUNNING"
	Invalid    Status = "INVALID"   // a try has come to nothing, and there will be another
	Completed  Status = "COMPLETED" // also of one that was stopped early
	Failed     Status = "FAILED"
	Infeasible Status = "INFEASIBLE" // its values can't be tried: not a failure, and never tried again
)

// Verdict says what there is to do for somebody who is free.
type Verdict int

// The verdicts.
const (
	Try  Verdict = iota // a trial
	Wait                // nothing before another trial ends
	Over                // nothing any more
)

// NextID is the name of the next new trial.
func (s *Study) NextID() string { return fmt.Sprintf("%04d", len(s.Trials)) }

// Trial finds a trial by its ID; nil if there is none.
func (s *Study) Trial(id string) *Trial {
	if at := s.place(id); at >= 0 {
		return s.Trials[at]
	}
	return nil
}

// place is where a trial stands; -1 if there is none.
func (s *Study) place(id string) int {
	at, err := strconv.Atoi(id)
	if err != nil || at < 0 || at >= len(s.Trials) || s.Trials[at].ID != id {
		return -1
	}
	return at
}

// Running are the trials in somebody's hands.
func (s *Study) Running() (running []*Trial) {
	for _, t := range s.Trials {
		if t.Status == Running {
			running = append(running, t)
		}
	}
	return running
}

// Of is the trial that a job works on, in whichever attempt at it; nil if there is none.
func (s *Study) Of(job string) *Trial {
	for _, t := range s.Trials {
		if t.Status == Running && t.Owner.Job == job {
			return t
		}
	}
	return nil
}

// Retry is the trial to be tried again, which goes before any new one: of those whose try has come
// to nothing the one that waits longest. nil if there is none.
func (s *Study) Retry() *Trial {
	var next *Trial
	for _, t := range s.Trials {
		if t.Status == Invalid && (next == nil || t.since < next.since) {
			next = t
		}
	}
	return next
}

// AskedBy says whether a job has asked for the study.
func (s *Study) AskedBy(job string) bool {
	return slices.ContainsFunc(s.Requests, func(request string) bool {
		by, _, _ := strings.Cut(request, " ")
		return by == job
	})
}

// Free says how many trials more may run at this moment, new ones or such as are tried again.
func (s *Study) Free() int {
	if s.Entries == 0 || s.Finished != nil {
		return 0
	}
	return max(0, s.Config.Parallel-len(s.Running()))
}

// Remaining returns how many new trials may still begin, now or later; -1: any number. A trial that
// continues a parent is not new.
func (s *Study) Remaining() int {
	switch {
	case s.Finished != nil:
		return 0
	case s.Config.MaxTrials == 0:
		return -1
	}
	left := s.Config.MaxTrials
	for _, t := range s.Trials {
		if t.Parent == "" {
			left--
		}
	}
	return max(0, left)
}

// settled says that no trial runs or waits for another try.
func (s *Study) settled() bool {
	return !slices.ContainsFunc(s.Trials, func(t *Trial) bool { return t.Status == Running || t.Status == Invalid })
}

// MaxPoints is about how many points of a curve a log's entry should hold.
const MaxPoints = 100

// Best is the first of a curve's best points; false if no value is a number.
func (o Objective) Best(curve []Point) (best Point, there bool) {
	for _, p := range curve {
		if !math.IsNaN(p.Value) && (!there || o.Direction.Better(p.Value, best.Value)) {
			best, there = p, true
		}
	}
	return best, there
}

// Thin is what a log should hold of a curve: all of a short one; of a longer one its first point,
// its last, its best, and others evenly, MaxPoints and two at most.
func (o Objective) Thin(curve []Point) (thin []Point) {
	best, _ := o.Best(curve)
	last := len(curve) - 1
	for i, p := range curve {
		even := i*MaxPoints/len(curve) != (i-1)*MaxPoints/len(curve)
		if len(curve) <= MaxPoints || even || i == 0 || i == last || p == best {
			thin = append(thin, p)
		}
	}
	return thin
}

// InWords returns the reason as text for people, after "finished:". An unknown reason is returned
// as it is.
func (w Why) InWords() string {
	words := map[Why]string{
		Exhausted: "nothing is left to try", MaxTrials: "it had its trials", OutOfTime: "it had its time",
		GoalReached: "its goal is reached", NoBetter: "nothing better was found for long", Failing: "too many trials failed in a row",
		Stopped: "it was stopped", Cancelled: "it was cancelled",
	}[w]
	if words == "" {
		return string(w)
	}
	return words
}

// end takes how a try at a trial ended, from its owner alone.
func (s *Study) end(e Entry) error {
	if e.Ended == nil {
		return nil
	}
	t, err := s.running(e.Ended.Trial)
	switch {
	case err != nil:
		return fmt.Errorf("ended: %w", err)
	case t.Owner != e.Ended.Owner:
		return fmt.Errorf("ended: trial %s is in the hands of %s, not of %s", t.ID, t.Owner, e.Ended.Owner)
	}
	if err := s.Config.checkEnded(*e.Ended); err != nil {
		return fmt.Errorf("ended: trial %s: %w", t.ID, err)
	}
	better := e.Ended.Status == Completed && s.improves(e.Ended)
	t.Status, t.Owner, t.Ended, t.since = e.Ended.Status, Owner{}, e.Stored, s.Entries
	t.Metrics, t.Curves, t.Step = e.Ended.Metrics, e.Ended.Curves, e.Ended.Step
	t.Stopped, t.Message, t.Files = e.Ended.Stopped, e.Ended.Message, e.Ended.Files
	s.count(t, better)
	s.lead(t)
	return nil
}

// count is what the end of a try means for the trial's next one, and for the study's budgets.
func (s *Study) count(t *Trial, better bool) {
	switch {
	case t.Status == Invalid:
		t.Tries--
	case t.Status == Failed && t.Tries <= s.Config.Retries:
		t.Status = Invalid
	case t.Status == Failed:
		s.failing++
	case t.Status == Completed:
		s.failing = 0
		s.idle++
	case t.Status == Infeasible: // or a search by patience alone would have no end where nothing can be tried
		s.idle++
	}
	if better {
		s.idle = 0
	}
}

// lead remembers the best trial: of equal ones that which was begun first.
func (s *Study) lead(t *Trial) {
	if t.Status != Completed || !s.Feasible(t) {
		return
	}
	at, best := s.place(t.ID), s.Leader()
	if best == nil || cmp.Or(s.compare(t, best), cmp.Compare(at+1, s.leader)) < 0 {
		s.leader = at + 1
	}
}

// checkEnded refuses an end that says nothing, or not all that a trial is judged by.
func (c Config) checkEnded(e Ended) error {
	switch e.Status {
	case Failed, Infeasible, Invalid:
		return nil
	case Completed:
	default:
		return fmt.Errorf("status: expected %s, %s, %s or %s, got %q", Completed, Failed, Infeasible, Invalid, e.Status)
	}
	for _, o := range c.Objectives {
		if score, there := o.score(e.Curves, e.Metrics); !there {
			return fmt.Errorf("metrics: %s: missing, and it is what the study is about", o.Name)
		} else if math.IsNaN(score) || math.IsInf(score, 0) {
			return fmt.Errorf("metrics: %s: expected a finite number, got %v", o.Name, score)
		}
	}
	return nil
}
