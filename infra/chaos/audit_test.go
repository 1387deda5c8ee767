package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// outcome is the final content of bus and store.
type outcome struct {
	trained map[string][]*events.ModelTrained // by pipeline/run
	failed  map[string][]*events.TrainingFailed
	found   map[string][]*events.HParamsReady // what searches found, by pipeline/run
	dead    []events.DeadLetter
	jobs    uint64 // still on the queue
}

// outcome reads the current content of the bus.
func (w *world) outcome(ctx context.Context) (o outcome, err error) {
	o.trained, o.failed = map[string][]*events.ModelTrained{}, map[string][]*events.TrainingFailed{}
	o.found = map[string][]*events.HParamsReady{}
	kinds := append(events.OutcomeKinds(), events.KindHParamsReady)
	for recorded, err := range w.bus.Read(ctx, events.Query{Kinds: kinds}) {
		if err != nil {
			return o, err
		}
		name := recorded.Event.Pipeline + "/" + recorded.Event.Run
		switch data := recorded.Event.Data.(type) {
		case *events.ModelTrained:
			o.trained[name] = append(o.trained[name], data)
		case *events.TrainingFailed:
			o.failed[name] = append(o.failed[name], data)
		case *events.HParamsReady:
			if recorded.Event.Source == events.Source(events.FunctionTune) {
				o.found[name] = append(o.found[name], data)
			}
		}
	}
	for deadLetter, err := range w.bus.DeadLetters(ctx) {
		if err != nil {
			return o, err
		}
		o.dead = append(o.dead, deadLetter)
	}
	stream, err := w.js.Stream(ctx, "JOBS")
	if err != nil {
		return o, err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return o, err
	}
	o.jobs = info.State.Msgs
	return o, nil
}

// missing returns what has not happened yet, "" if everything has. More than there should be is no
// matter here.
func (o outcome) missing(runs []run, poisons []*poison) string {
	var open []string
	for _, r := range runs {
		if len(o.trained[r.String()]) == 0 {
			open = append(open, r.String())
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("%d of %d runs have no model: %s", len(open), len(runs), strings.Join(open, ", "))
	}
	for _, p := range poisons {
		if !slices.ContainsFunc(o.dead, p.is) {
			return p.name + " is not dead"
		}
		if p.failed != "" && len(o.failed[p.failed]) == 0 {
			return p.name + ": no failure event"
		}
	}
	if o.jobs > 0 {
		return fmt.Sprintf("%d jobs are on the queue", o.jobs)
	}
	return ""
}

func (p *poison) is(deadLetter events.DeadLetter) bool {
	return deadLetter.Message.Stream == p.stream && deadLetter.Message.Sequence == p.sequence
}

// audit lists everything that is wrong.
func (w *world) audit(ctx context.Context, o outcome, runs []run, poisons []*poison) (faults []string) {
	faults = slices.Concat(o.events(runs), o.searches(runs), o.deadLetters(poisons), w.faults())
	for name, failures := range o.failed {
		if !slices.ContainsFunc(poisons, func(p *poison) bool { return p.failed == name }) || len(failures) > 1 {
			faults = append(faults, fmt.Sprintf("%s: %d failure events, the first: %s", name, len(failures), failures[0].Message))
		}
	}
	for _, r := range runs {
		for _, event := range o.trained[r.String()] {
			if err := w.model(ctx, r, event); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", r, err))
			}
		}
	}
	return append(faults, w.commits(ctx, o)...)
}

// events checks that each run has one ModelTrained, and that runs with equal inputs have equal
// ones.
func (o outcome) events(runs []run) (faults []string) {
	known, same := map[string]bool{}, map[string]*events.ModelTrained{}
	digests, executions := map[string]string{}, map[string]string{}
	for _, r := range runs {
		known[r.String()] = true
		trained := o.trained[r.String()]
		if len(trained) != 1 {
			faults = append(faults, fmt.Sprintf("%s: %d model events", r, len(trained)))
			continue
		}
		work := r.pipeline + ": " + r.work
		first, seen := same[work]
		if !seen {
			same[work] = trained[0]
		} else if first.Execution != trained[0].Execution || first.Model.URI != trained[0].Model.URI || first.Generation != trained[0].Generation {
			faults = append(faults, fmt.Sprintf("%s: trained as %s, its like as %s", r, trained[0].Model.URI, first.Model.URI))
		}
		at := r.pipeline + ": " + trained[0].Execution
		if other, seen := executions[at]; seen && other != work {
			faults = append(faults, fmt.Sprintf("%s: one execution with %s", r, other))
		}
		executions[at] = work
		if digest, seen := digests[r.inputs]; seen && digest != trained[0].Model.Digest {
			faults = append(faults, fmt.Sprintf("%s: model %s, its like %s", r, trained[0].Model.Digest, digest))
		}
		digests[r.inputs] = trained[0].Model.Digest
	}
	for name := range o.trained {
		if !known[name] {
			faults = append(faults, name+": a model that nobody asked for")
		}
	}
	return faults
}

// searches wants one word of a search for each run that is tuned, and equal ones for runs that ask
// for the same.
func (o outcome) searches(runs []run) (faults []string) {
	same, tuned := map[string]*events.HParamsReady{}, 0
	for _, r := range runs {
		found := o.found[r.String()]
		if !r.tuned() {
			continue
		}
		if tuned++; len(found) != 1 {
			faults = append(faults, fmt.Sprintf("%s: %d search results", r, len(found)))
			continue
		}
		if first := same[r.work]; first != nil && (first.Execution != found[0].Execution || first.Hyperparameters != found[0].Hyperparameters) {
			faults = append(faults, fmt.Sprintf("%s: found %s, its like %s", r, found[0].Hyperparameters, first.Hyperparameters))
		}
		same[r.work] = found[0]
	}
	if len(o.found) != tuned {
		faults = append(faults, fmt.Sprintf("%d runs have search results, %d are tuned", len(o.found), tuned))
	}
	return faults
}

// deadLetters checks that the dead letters are those of all poison messages, each once.
func (o outcome) deadLetters(poisons []*poison) (faults []string) {
	for _, p := range poisons {
		count := 0
		for _, deadLetter := range o.dead {
			if p.is(deadLetter) {
				count++
				if string(deadLetter.Message.Body) != string(p.body) {
					faults = append(faults, p.name+": its dead letter is not verbatim")
				}
			}
		}
		if count != 1 {
			faults = append(faults, fmt.Sprintf("%s: %d dead letters", p.name, count))
		}
	}
	for _, deadLetter := range o.dead {
		if !slices.ContainsFunc(poisons, func(p *poison) bool { return p.is(deadLetter) }) {
			faults = append(faults, fmt.Sprintf("message %d of %s is dead: %s", deadLetter.Message.Sequence, deadLetter.Message.Stream, deadLetter.Reason.Message))
		}
	}
	return faults
}

// model checks that a model has exactly the bytes of an undisturbed training.
func (w *world) model(ctx context.Context, r run, event *events.ModelTrained) error {
	if err := w.whole(ctx, event); err != nil || r.seed == 0 {
		return err
	}
	ref, err := storage.ParseRef(event.Model.URI)
	if err != nil {
		return err
	}
	want := filepath.Join(w.t.TempDir(), "model")
	if err := writeModel(want, tinyWeights(r.seed)); err != nil {
		return err
	}
	return filepath.WalkDir(want, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return w.sameBytes(ctx, path, ref.Join("Format-Serving/"+strings.TrimPrefix(path, want+"/")))
	})
}

func (w *world) sameBytes(ctx context.Context, path string, ref storage.Ref) error {
	want, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	got, err := w.read(ctx, ref)
	if err == nil && string(got) != string(want) {
		err = fmt.Errorf("%s is not what an undisturbed training writes", ref)
	}
	return err
}

// results lists the addresses in all events: of models, and of hyperparameters that searches found.
func (o outcome) results() (uris []string) {
	for _, models := range o.trained {
		for _, m := range models {
			uris = append(uris, m.Model.URI)
		}
	}
	for _, searches := range o.found {
		for _, found := range searches {
			uris = append(uris, found.Hyperparameters)
		}
	}
	return uris
}

// commits checks that each execution named by an event has one commit, and that there are no
// others.
func (w *world) commits(ctx context.Context, o outcome) (faults []string) {
	named, committed := map[string]bool{}, map[string]bool{}
	for _, uri := range o.results() {
		if place, ok := storage.ExecutionAt(uri); ok {
			named[place.Commit().String()] = true
		}
	}
	for object, err := range w.store.List(ctx, w.root) {
		if err != nil {
			return append(faults, err.Error())
		}
		if _, part, _ := storage.OwnerOf(w.root, object.Ref); part != storage.PartCommit {
			continue
		}
		committed[object.Ref.String()] = true
		if !named[object.Ref.String()] {
			faults = append(faults, object.Ref.String()+": a commit that no event names")
		}
	}
	if len(named) != len(committed) {
		faults = append(faults, fmt.Sprintf("%d executions in events, %d committed", len(named), len(committed)))
	}
	return faults
}
