package process

import (
	"errors"
	"io"
	"testing"
	"time"
)

func TestOnlyTheChildHoldsItsEndsOfThePipes(t *testing.T) {
	t.Parallel()
	p, err := supervisorWith(t, nil).Start(Command{Line: []string{"/bin/echo", "out"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	// Far off: it is there so that a red test ends.
	end := time.Now().Add(8 * time.Minute)
	if err := errors.Join(p.Output.SetReadDeadline(end), p.Progress.SetReadDeadline(end)); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(p.Output); string(text) != "out\n" || err != nil {
		t.Errorf("output is %q, error %v", text, err)
	}
	if text, err := io.ReadAll(p.Progress); len(text) != 0 || err != nil {
		t.Errorf("progress is %q, error %v", text, err)
	}
}

// supervisorWith returns a Supervisor whose processes have these cgroups.
func supervisorWith(t *testing.T, groups *cgroups) *Supervisor {
	t.Helper()
	if err := adoptOrphans(); err != nil {
		t.Fatal(err)
	}
	return &Supervisor{dir: t.TempDir(), cgroups: groups, close: func() error { return nil }}
}
