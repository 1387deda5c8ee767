package execution

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/storage"
)

// Part is a piece of an execution's work that has a folder and checkpoints of its own: a trial of a search. Who goes on with the part, or
// from it, may be another attempt, of another job even. It is for one goroutine at a time.
type Part struct {
	dir         string
	attempt     *Attempt
	checkpoints *storage.Checkpoints
	place       storage.Place
	saved       bool // maybe: there is something to forget
}

// Part is one of an attempt's, by its name, at work in a folder. An attempt opens it once to save anything. Whose turn at the part it is
// says its kind, as the log of a study does for its trials: so what is saved last counts, whichever job saves it and however far another
// had come, and all save as one job's one attempt. Who lost its own job is kept from writing, as everywhere.
func (a *Attempt) Part(name, dir string) *Part {
	sum := sha256.Sum256([]byte(a.Execution.ID + " " + name))
	place := a.Execution.place(a.Task.Attempt.ID)
	place.Execution = "sha256:" + hex.EncodeToString(sum[:])
	return &Part{
		dir: dir, attempt: a, place: place,
		checkpoints: storage.OpenCheckpoints(a.Execution.fenced, place, name, 1),
	}
}

// Load lays the newest checkpoint of the part out in a folder; false if there is none.
func (p *Part) Load(ctx context.Context, dir string) (bool, error) {
	fresh, err := os.MkdirTemp(p.attempt.Desk.dir, "loaded-") // a module can't have it written elsewhere by a link
	if err != nil {
		return false, events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	defer os.RemoveAll(fresh)
	loaded, err := p.checkpoints.Load(ctx, fresh)
	if err == nil && loaded.Found() {
		err = errors.Join(os.Chmod(fresh, 0o755), guest.MoveIn(fresh, p.attempt.Desk.base(dir), dir))
	}
	if err != nil {
		return false, events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	for _, why := range loaded.Passed {
		p.attempt.Execution.Log.WarnContext(ctx, "a checkpoint is passed over", "error", why)
	}
	p.saved = p.saved || loaded.Found()
	return loaded.Found(), nil
}

// Saving runs do and sends the checkpoints of the part's folder for which it calls take, as those of an attempt are sent: what is not
// sent when do has succeeded is not sent any more.
func (p *Part) Saving(ctx context.Context, do func(take Take) error) error {
	s := &saver{desk: p.attempt.Desk, checkpoints: p.checkpoints, log: p.attempt.Execution.Log, saved: p.attempt.countSaved, latest: make(chan snapshot, 1)}
	s.copy = func(to string, all bool, _ selection) error {
		if all {
			return copyTree(p.attempt.Desk.base(p.dir), p.dir, to, math.MaxInt64, nil)
		}
		return copyTree(p.attempt.Desk.base(p.dir), p.dir, to, copiedBytes, nil)
	}
	defer s.removeFolder()
	err := p.attempt.shop.saving(ctx, s, do)
	p.saved = p.saved || s.taken > 0
	return err
}

// base is where no module can replace a folder on the way to another. A module's own search names the folders of trials itself, and they
// may be anywhere.
func (d Desk) base(dir string) string {
	if name, err := filepath.Rel(d.dir, dir); err == nil && filepath.IsLocal(name) {
		return d.dir
	}
	return string(filepath.Separator)
}

// Keep sends what the folder holds for those who go on from the part.
func (p *Part) Keep(ctx context.Context, step int) error {
	p.saved = true
	s := &saver{desk: p.attempt.Desk}
	if err := s.makeFolder(); err != nil {
		return err
	}
	defer s.removeFolder()
	whole := filepath.Join(s.beside, "whole") // what the store follows is not the module's to change
	if err := copyTree(p.attempt.Desk.base(p.dir), p.dir, whole, copiedBytes, nil); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("copy what is kept: %w", err))
	}
	if _, err := p.checkpoints.Save(ctx, whole, step); err != nil {
		return events.Fail(events.FailureUnavailable, err)
	}
	return nil
}

// Forget removes what is kept of the part, if this attempt has had to do with any. What stays behind is garbage for later.
func (p *Part) Forget(ctx context.Context) {
	if !p.saved {
		return
	}
	place := p.place
	place.Attempt = ""
	if err := storage.RemoveCheckpoints(ctx, p.attempt.Execution.fenced, place); err != nil {
		p.attempt.Execution.Log.WarnContext(ctx, "checkpoints are left in the store", "error", err)
	}
}

// ForgetPart is Forget for a part that others have worked on.
func (a *Attempt) ForgetPart(ctx context.Context, name string) {
	p := a.Part(name, "")
	p.saved = true
	p.Forget(ctx)
}
