package training

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/compute/train"
)

func TestALogThatEndsSaysSoOnce(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	l := &runLog{log: slog.New(slog.NewTextHandler(&said, nil))}
	dir := filepath.Join(t.TempDir(), "a\x00b") // an invalid path on every system
	l.training = tfevents.NewTraining(tfevents.TrainingOptions{Dir: dir})
	for step := 1; step <= 20; step++ {
		l.stepped(step, 0.5)
	}
	l.checkpoint(20)
	l.finish(train.Result{Steps: 20}, nil)
	if n := strings.Count(said.String(), "run log stopped"); n != 1 {
		t.Errorf("said %d times, expected once:\n%s", n, said.String())
	}
}
