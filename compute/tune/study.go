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

// Study is the result of folding a log. The zero value is that of an empty log. A copy of a Study
// is independent: Apply on one does not change the other, because what it points to is never
// changed. It is for one goroutine at a time.
type Study struct {
	Config Config // with its defaults filled in, and with the parameters that were found later
	// In the order in which they were begun; a change replaces the Trial in the same place.
	Trials   []*Trial
	Finished *Finished
	Requests []string  // the requests for it, in their order: see Begun
	Begun    time.Time // when the first entry was stored, by the bus's clock
	Opened   time.Time // when it was last requested: MaxTime counts from here
	Last     time.Time // when the newest entry was stored
	Entries  int       // number of entries that had an effect

	Skipped int // number of entries that don't continue the log, see Enter
	Dropped int // number of entries that continue it but contradict it, and have no effect

	head    string // the hash of the newest entry that continues the log
	failing int    // failed trials since one was completed, or since the study was requested
	idle    int    // trials completed, or found infeasible, since one was better than all before it
	leader  int    // one more than the index of the best trial; 0: there is none
}

// Trial is a try of some values; several tries if the first failed.
type Trial struct {
	ID string
	Suggestion
	Status  Status
	Owner   Owner  // while it runs
	By      Owner  // the newest owner, also after it has ended
	Worker  string // of By; "": not known
	Tries   int    // tries that were begun, including the running one; Invalid ones do not count
	Metrics map[string]float64
	Curves  map[string][]Point
	Step    int
	Stopped int
	Message string
	Files   string
	Started time.Time
	Ended   time.Time

	// Origin is the hash of the entry that began the trial. Two trials of one number, of which the
	// bus has lost one, have different origins: files of a trial outside the log are named by both.
	Origin string

	key   string // key of its values in the present space
	since int    // number of the entry that last changed its status
}

// Key is equal for trials of equal values: a parameter that was found later had its default before.
func (t *Trial) Key() string { return t.key }

// Since returns the number of the entry that last changed its status. It orders trials in the same
// way for all readers of the log. Times do not, because the writer of an entry knows it before the
// bus has set its time.
func (t *Trial) Since() int { return t.since }

// Status is the status of a trial, with KerasTuner's name if it has one.
type Status string

// The statuses.
const (
	Running   Status = "RUNNING"
	Invalid   Status = "INVALID"   // a try was Invalid, and there will be another one
	Completed Status = "COMPLETED" // also for a trial that was stopped early
	Failed    Status = "FAILED"
	// Its values can't be tried: not a failure, and never tried again.
	Infeasible Status = "INFEASIBLE"
)

// Verdict tells a free participant what to do.
type Verdict int

// The verdicts.
const (
	Try  Verdict = iota // begin a trial
	Wait                // wait until another trial ends
	Over                // nothing is left to do
)

// NextID returns the ID of the next new trial.
func (s *Study) NextID() string { return fmt.Sprintf("%04d", len(s.Trials)) }

// Trial finds a trial by its ID; nil if there is none.
func (s *Study) Trial(id string) *Trial {
	if at := s.place(id); at >= 0 {
		return s.Trials[at]
	}
	return nil
}

// place returns the index of a trial; -1 if there is none.
func (s *Study) place(id string) int {
	at, err := strconv.Atoi(id)
	if err != nil || at < 0 || at >= len(s.Trials) || s.Trials[at].ID != id {
		return -1
	}
	return at
}

// Running returns the trials that run.
func (s *Study) Running() (running []*Trial) {
	for _, t := range s.Trials {
		if t.Status == Running {
			running = append(running, t)
		}
	}
	return running
}

// Of returns the trial that a job works on, in any of its attempts; nil if there is none.
func (s *Study) Of(job string) *Trial {
	for _, t := range s.Trials {
		if t.Status == Running && t.Owner.Job == job {
			return t
		}
	}
	return nil
}

// Retry returns the trial to be tried again, which has precedence over new ones: of those whose try
// was Invalid the one that has waited longest; nil if there is none.
func (s *Study) Retry() *Trial {
	var next *Trial
	for _, t := range s.Trials {
		if t.Status == Invalid && (next == nil || t.since < next.since) {
			next = t
		}
	}
	return next
}

// AskedBy reports whether a job has requested the study.
func (s *Study) AskedBy(job string) bool {
	return slices.ContainsFunc(s.Requests, func(request string) bool {
		by, _, _ := strings.Cut(request, " ")
		return by == job
	})
}

// Free returns how many more trials may run at this moment, new ones or retries.
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

// settled reports whether no trial runs or waits for another try.
func (s *Study) settled() bool {
	return !slices.ContainsFunc(s.Trials, func(t *Trial) bool { return t.Status == Running || t.Status == Invalid })
}

// MaxPoints is about how many points of a curve a log's entry should hold.
const MaxPoints = 100

// Best returns the first of a curve's best points; false if no value is a number.
func (o Objective) Best(curve []Point) (best Point, there bool) {
	for _, p := range curve {
		if !math.IsNaN(p.Value) && (!there || o.Direction.Better(p.Value, best.Value)) {
			best, there = p, true
		}
	}
	return best, there
}

// Thin returns the points of a curve to keep in a log: all of a short one; of a longer one its
// first point, its last, its best, and others evenly, at most MaxPoints and two.
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

// InWords returns the reason as text for users, after "finished:". An unknown reason is returned as
// it is.
func (w Why) InWords() string {
	words := map[Why]string{
		Exhausted: "nothing left to try", MaxTrials: "all trials done", OutOfTime: "time limit reached",
		GoalReached: "goal reached", NoBetter: "no improvement", Failing: "too many trials failed in a row",
		Stopped: "stopped on request", Cancelled: "cancelled on request",
	}[w]
	if words == "" {
		return string(w)
	}
	return words
}

// end applies how a try at a trial ended, if its owner says so.
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

// count applies the end of a try to the trial's retries and the study's budgets.
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
	case t.Status == Infeasible:
		// Otherwise a search that only patience ends would never end if nothing can be tried.
		s.idle++
	}
	if better {
		s.idle = 0
	}
}

// lead remembers the best trial: of equal ones the one that was begun first.
func (s *Study) lead(t *Trial) {
	if t.Status != Completed || !s.Feasible(t) {
		return
	}
	at, best := s.place(t.ID), s.Leader()
	if best == nil || cmp.Or(s.compare(t, best), cmp.Compare(at+1, s.leader)) < 0 {
		s.leader = at + 1
	}
}

// checkEnded refuses an end without status, or without all objectives by which a trial is judged.
func (c Config) checkEnded(e Ended) error {
	switch e.Status {
	case Failed, Infeasible, Invalid:
		return nil
	case Completed:
	default:
		return fmt.Errorf("status: expected %s, %s, %s or %s, got %q", Completed, Failed, Infeasible, Invalid, e.Status)
	}
	for _, o := range c.Objectives {
		if score, there := c.scoreOf(o, e.Curves, e.Metrics); !there {
			return fmt.Errorf("metrics: %s: missing, and it is what the study is about", o.Name)
		} else if math.IsNaN(score) || math.IsInf(score, 0) {
			return fmt.Errorf("metrics: %s: expected a finite number, got %v", o.Name, score)
		}
	}
	return nil
}
