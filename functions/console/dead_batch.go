package console

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// What is done with dead letters.
const (
	doRetry = "retry"
	doDrop  = "drop"
)

const (
	maxBatch        = 1000     // dead letters of one batch
	maxBatchBytes   = 32 << 20 // of messages that a batch holds at a time
	maxBatches      = 16       // that the console remembers
	maxBatchFailed  = 100      // failures that are shown
	maxBatchNumbers = 12 << 10 // bytes of their encoding
)

// askView asks whether to retry or drop dead letters, and says what that does.
type askView struct {
	Do        string
	Count     int
	Left      int    // others that match, beyond the bound
	Numbers   string // encodeNumbers
	Pipelines []stateCount
	Pinned    int // jobs whose retry uses another revision than the applied one
	Group     *deadGroupLine
	Back      template.URL
	Busy      template.URL // the page of a batch that is in progress
}

// Retries reports whether the letters are retried.
func (v askView) Retries() bool { return v.Do == doRetry }

func (c *Console) askDeadPage() page {
	return page{
		nav: "dead", template: "dead-ask", title: func(view any) string {
			return map[string]string{doRetry: "Retry dead letters", doDrop: "Drop dead letters"}[view.(askView).Do]
		},
		build: func(r *http.Request) (any, error) { return c.askView(r) },
	}
}

// askView selects the letters that the address names by number, or else those that its filter
// matches: of these the oldest first.
func (c *Console) askView(r *http.Request) (view askView, err error) {
	view.Do = r.FormValue("do")
	if view.Do != doRetry && view.Do != doDrop {
		return view, badRequest("do: expected retry or drop")
	}
	all, err := c.model.freshDead(r.Context())
	if err != nil {
		return view, err
	}
	f, named := deadFilterOf(r), map[string]bool{}
	for _, number := range r.Form["number"] {
		named[number] = true
	}
	if r.FormValue("chosen") != "" && len(named) == 0 {
		return view, badRequest("No dead letter is chosen: tick some first.")
	}
	var chosen []deadEntry
	for _, e := range slices.Backward(all.entries) {
		if len(named) > 0 && named[strconv.FormatUint(e.Number, 10)] || len(named) == 0 && f.matches(e) {
			chosen = append(chosen, e)
		}
	}
	if groups := deadGroups(chosen, f); len(groups) == 1 {
		view.Group = &groups[0]
	}
	view.Left = max(0, len(chosen)-maxBatch)
	chosen = chosen[:len(chosen)-view.Left]
	view.Count, view.Back = len(chosen), f.link("/dead")
	view.Busy = c.batches.busy()
	c.describe(&view, chosen)
	return view, nil
}

// describe fills in what a batch of letters consists of.
func (c *Console) describe(view *askView, chosen []deadEntry) {
	var numbers []uint64
	counts := map[string]int{}
	for _, e := range chosen {
		numbers = append(numbers, e.Number)
		counts[e.Pipeline]++
		if line := c.lineOf(e); line.Revision != 0 && line.Revision != line.Applied {
			view.Pinned++
		}
	}
	view.Numbers = encodeNumbers(numbers)
	for name, n := range counts {
		view.Pipelines = append(view.Pipelines, stateCount{State: name, Count: n})
	}
	slices.SortFunc(view.Pipelines, func(a, b stateCount) int { return strings.Compare(a.State, b.State) })
}

// encodeNumbers writes ascending numbers as ranges that need no escape in a form: 1-3.7.
func encodeNumbers(numbers []uint64) string {
	var list []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		one := strconv.FormatUint(numbers[i], 10)
		if j > i {
			one += "-" + strconv.FormatUint(numbers[j], 10)
		}
		list = append(list, one)
		i = j + 1
	}
	return strings.Join(list, ".")
}

// decodeNumbers reads what encodeNumbers wrote: at most maxBatch numbers, each once.
func decodeNumbers(text string) (numbers []uint64, err error) {
	invalid := badRequest("numbers: expected 1 to %d dead letters", maxBatch)
	if len(text) > maxBatchNumbers {
		return nil, invalid
	}
	for one := range strings.SplitSeq(text, ".") {
		first, last, isRange := strings.Cut(one, "-")
		from, err := strconv.ParseUint(first, 10, 64)
		to := from
		if err == nil && isRange {
			to, err = strconv.ParseUint(last, 10, 64)
		}
		if err != nil || to < from || to-from >= maxBatch || len(numbers)+int(to-from) >= maxBatch {
			return nil, invalid
		}
		for number := from; ; number++ {
			numbers = append(numbers, number)
			if number == to {
				break
			}
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// batch is dead letters that are retried or dropped one after the other. batches guards what
// changes.
type batch struct {
	id, do  string
	numbers []uint64
	begun   time.Time
	batchState
}

// batchState is how far a batch is.
type batchState struct {
	Done     int // retried or dropped
	Gone     int // there no longer was such a letter
	Failed   int
	Failures []batchFailure // the first ones
	Stopped  string         // why the rest was not tried
	Ended    time.Time
}

type batchFailure struct {
	Number uint64
	Why    string
}

// batches are the batches of this console: one is in progress at a time, and the last ones are
// remembered.
type batches struct {
	mu     sync.Mutex
	list   []*batch // the newest last
	queued chan *batch
}

func newBatches() *batches { return &batches{queued: make(chan *batch, 1)} }

// busy returns the page of the batch that is in progress; "" if there is none.
func (b *batches) busy() template.URL {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.list); n > 0 && b.list[n-1].Ended.IsZero() {
		return b.list[n-1].url()
	}
	return ""
}

func (b *batch) url() template.URL { return link("/dead/batch", "id", b.id) }

// start adds a batch, which runBatches does; false if one is in progress.
func (b *batches) start(do string, numbers []uint64, now time.Time) (*batch, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.list); n > 0 && b.list[n-1].Ended.IsZero() {
		return nil, false
	}
	one := &batch{id: rand.Text(), do: do, numbers: numbers, begun: now}
	b.list = append(b.list, one)
	b.list = b.list[max(0, len(b.list)-maxBatches):]
	b.queued <- one // which has space: the one before has ended
	return one, true
}

// find returns a batch and its state; nil if the console does not remember it.
func (b *batches) find(id string) (*batch, batchState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.list {
		if one.id == id {
			state := one.batchState
			state.Failures = slices.Clone(state.Failures)
			return one, state
		}
	}
	return nil, batchState{}
}

func (b *batches) change(one *batch, do func(*batchState)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do(&one.batchState)
}

// runBatches does batches, one after the other, until ctx ends.
func (c *Console) runBatches(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case one := <-c.batches.queued:
			err := c.runBatch(ctx, one)
			c.batches.change(one, func(s *batchState) {
				if s.Ended = c.opts.Now(); err != nil {
					s.Stopped = mask.Text(err.Error())
				}
			})
			if err := c.model.readDead(ctx); err != nil {
				c.opts.Logger.Warn("dead letters not read; retrying", "error", err)
			}
			c.model.Change(func(*runs.Index) {})
		}
	}
}

// runBatch settles the letters of a batch, the oldest first, each once. It continues after a letter
// that fails, but not if the bus can't be read or refuses this console.
func (c *Console) runBatch(ctx context.Context, b *batch) error {
	settle := func(letter events.DeadLetter) error { return c.opts.Bus.DeleteDeadLetter(ctx, letter.Sequence) }
	if b.do == doRetry {
		dispatcher, err := dispatch.New(ctx, c.opts.Bus, c.opts.Logger)
		if err != nil {
			return err
		}
		settle = func(letter events.DeadLetter) error { return replay.Retry(ctx, c.opts.Bus, dispatcher, letter) }
	}
	for left := b.numbers; len(left) > 0; {
		letters, rest, err := takeLetters(ctx, c.opts.Bus, left)
		if err != nil {
			return err
		}
		c.batches.change(b, func(s *batchState) { s.Gone += len(left) - len(rest) - len(letters) })
		for _, letter := range letters {
			err := settle(letter)
			c.noteSettled(b, letter.Sequence, err)
			if ctx.Err() != nil || errors.Is(err, events.ErrRefused) {
				return errors.Join(err, context.Cause(ctx))
			}
		}
		left = rest
	}
	return nil
}

func (c *Console) noteSettled(b *batch, number uint64, err error) {
	c.batches.change(b, func(s *batchState) {
		switch {
		case err == nil:
			s.Done++
		case b.do == doDrop && errors.Is(err, events.ErrNotFound):
			s.Gone++
		default:
			if s.Failed++; len(s.Failures) < maxBatchFailed {
				s.Failures = append(s.Failures, batchFailure{number, mask.Text(shortened(runs.FirstLine(err.Error()), maxWhy))})
			}
		}
	})
	c.model.Change(func(*runs.Index) {})
}

// takeLetters lists the dead letters of ascending numbers until they hold maxBatchBytes; rest are
// the numbers after the last one listed.
func takeLetters(ctx context.Context, bus events.DeadLetterQueue, numbers []uint64) (letters []events.DeadLetter, rest []uint64, err error) {
	held := 0
	for letter, err := range bus.DeadLetters(ctx) {
		if err != nil {
			return nil, nil, err
		}
		at, wanted := slices.BinarySearch(numbers, letter.Sequence)
		if !wanted {
			continue
		}
		letters = append(letters, letter)
		held += len(letter.Message.Body)
		for _, cause := range letter.Causes {
			held += len(cause.Body)
		}
		if held > maxBatchBytes {
			return letters, numbers[at+1:], nil
		}
	}
	return letters, nil, nil
}

// batchAction starts a batch with the letters of a form, and shows its progress.
func (c *Console) batchAction(do string) action {
	return func(r *http.Request) (template.URL, error) {
		numbers, err := decodeNumbers(r.PostFormValue("numbers"))
		if err != nil {
			return "", err
		}
		one, ok := c.batches.start(do, numbers, c.opts.Now())
		if !ok {
			return "", &problem{http.StatusConflict, "Other dead letters are being retried or dropped. Wait until that has ended."}
		}
		return one.url(), nil
	}
}

// batchView is the progress of a batch.
type batchView struct {
	batchState
	Do     string
	Count  int
	URL    template.URL
	Hidden int // failures that are not shown
}

// Retries reports whether the letters are retried.
func (v batchView) Retries() bool { return v.Do == doRetry }

// Settled returns how many letters were tried.
func (v batchView) Settled() int { return v.Done + v.Gone + v.Failed }

// Heading returns what the batch does, or has done.
func (v batchView) Heading() string {
	words := map[string][2]string{doRetry: {"Retrying", "Retried"}, doDrop: {"Dropping", "Dropped"}}[v.Do]
	if v.Ended.IsZero() {
		return fmt.Sprintf("%s %s", words[0], letterCount(v.Count))
	}
	return fmt.Sprintf("%s %d of %s", words[1], v.Done, letterCount(v.Count))
}

// letterCount returns a number of dead letters in words.
func letterCount(n int) string {
	if n == 1 {
		return "1 dead letter"
	}
	return thousands(n) + " dead letters"
}

func (c *Console) batchPage() page {
	return page{
		nav: "dead", template: "dead-batch", title: func(view any) string { return view.(batchView).Heading() }, fragments: []string{"batch-state"},
		breath: shortly,
		build: func(r *http.Request) (any, error) {
			one, state := c.batches.find(r.FormValue("id"))
			if one == nil {
				return nil, notThere("The console does not remember this: it keeps the last %d, until it stops. Dead letters that are left are in the list.", maxBatches)
			}
			return batchView{batchState: state, Do: one.do, Count: len(one.numbers), URL: one.url(), Hidden: state.Failed - len(state.Failures)}, nil
		},
	}
}
