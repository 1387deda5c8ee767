package chaos

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// A worker is frozen until its lease has expired and another worker has done its job. After it is
// woken, it publishes no event, and logs why. Frozen before the proof of its lease it has no effect
// at all; frozen between proof and effect, the effect is refused.
func TestAZombiePublishesNothing(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]cut{
		"in training":                                    {Point: pointTrain, Nth: 2},
		"before it proves to commit":                     {Point: proofAfter(pointManifest), Nth: 1},
		"right before its commit":                        {Point: pointCommit, Nth: 1},
		"before it proves its lease to publish an event": {Point: proofAfter(pointCommit), Nth: 1},
		"right before its event":                         {Point: pointEvent, Nth: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at.Signal = syscall.SIGSTOP
			p := newPlan(t, 1)
			p.kind = true
			w := newWorld(t, p, lease)
			up := newUpstream(w, 1)
			w.add(roleDispatcher, never)
			zombie := w.add(roleWorker, inTurn([]cut{at}))
			for _, event := range up.runs[0].events {
				w.must(publish(t.Context(), w.bus, event))
			}
			w.frozen(zombie)
			w.add(roleWorker, never)
			o := w.settled(time.Minute, up.runs)
			before, said := w.everything(), len(w.logOf(zombie))

			w.must(zombie.wake())
			w.eventually(time.Minute, func(context.Context) string { return gaveUp(w.logOf(zombie)[said:]) })
			for _, fault := range w.audit(t.Context(), o, up.runs, nil) {
				t.Error(fault)
			}
			w.nothingBut(before, zombie, said)
		})
	}
}

// gaveUp checks that a worker logs why it does not settle a job: this is its last line about the
// job, after its calls in progress have ended.
func gaveUp(log string) string {
	for line := range strings.Lines(log) {
		last := strings.Contains(line, `msg="lease lost; another worker has the job"`) || strings.Contains(line, `msg="job not settled`)
		if last && strings.Contains(line, "lease lost") {
			return ""
		}
	}
	return "the zombie does not say that it lost its lease"
}

// nothingBut checks that a zombie began no effect after it had logged so many bytes, and that it
// created no objects or events. A checkpoint that was being written when it froze may still arrive:
// no attempt continues from it.
func (w *world) nothingBut(before []string, zombie *process, said int) {
	w.t.Helper()
	for line := range strings.Lines(w.logOf(zombie)[said:]) {
		if strings.Contains(line, "msg=effect") && !strings.Contains(line, "checkpoint") && !strings.Contains(line, string(pointTrain)) {
			w.t.Errorf("the zombie went on: %s", line)
		}
	}
	inFlight := 0
	for _, thing := range w.everything() {
		if slices.Contains(before, thing) {
			continue
		}
		if inFlight++; inFlight > 1 || !strings.Contains(thing, "/checkpoint") {
			w.t.Errorf("the zombie left %s", thing)
		}
	}
}

// frozen waits until a process is stopped.
func (w *world) frozen(p *process) {
	w.t.Helper()
	w.eventually(time.Minute, func(context.Context) string {
		if _, err := os.Stat(w.cutsFile()); err != nil {
			return p.part.Name + " is not frozen"
		}
		return ""
	})
}

// everything returns each event and each object there is, by all that would show that it was
// written again.
func (w *world) everything() (all []string) {
	for recorded, err := range w.bus.Read(w.t.Context(), events.Query{}) {
		w.must(err)
		all = append(all, recorded.Message.Subject)
	}
	for object, err := range w.store.List(w.t.Context(), w.root) {
		w.must(err)
		all = append(all, object.Ref.String()+" "+object.ETag+" "+object.Modified.String())
	}
	return all
}
