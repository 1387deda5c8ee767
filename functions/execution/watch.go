package execution

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// fileWatch saves checkpoints of a module that does not report when its files are consistent.
type fileWatch struct {
	save *Checkpointer
	step atomic.Int64
	stop chan struct{}
	done sync.WaitGroup
}

// watchFiles watches the directories of a TFX module while it runs. It returns nil for other
// modules, which report their checkpoints, and for an attempt that saves no checkpoints.
func (a *Attempt) watchFiles(source module.Source) *fileWatch {
	if a.checkpointer == nil || !runner.IsTFX(source.Path) {
		return nil
	}
	w := &fileWatch{save: a.checkpointer, stop: make(chan struct{})}
	w.step.Store(int64(a.Resumed))
	w.done.Go(w.run)
	return w
}

// run scans the directories until end is called. It uses a twentieth of one core at most.
func (w *fileWatch) run() {
	for pause := scanPause; ; {
		select {
		case <-w.stop:
			return
		case <-time.After(pause):
		}
		began := time.Now()
		w.save.Save(w.checkpoint())
		pause = max(scanPause, 20*time.Since(began))
	}
}

func (w *fileWatch) checkpoint() module.Message {
	return module.Message{Type: module.MessageCheckpoint, Step: int(w.step.Load()), All: true, Settled: true}
}

// reached records the step that the training has reached.
func (w *fileWatch) reached(step int) {
	if w != nil && step > 0 {
		w.step.Store(int64(step))
	}
}

// end stops the watch. If the module failed it saves a last checkpoint: the process may have ended
// between two scans.
func (w *fileWatch) end(failed bool) {
	if w == nil {
		return
	}
	close(w.stop)
	w.done.Wait()
	if failed {
		last := w.checkpoint()
		last.Over = true
		w.save.Save(last)
	}
}
