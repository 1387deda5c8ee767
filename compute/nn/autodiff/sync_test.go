package autodiff

import (
	"errors"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// away is a device that can't be read.
type away struct {
	plan.Machine
	err error
}

func (m away) Sync() error { return m.err }

// A caller that retries after an error must not take this computer's weights for the device's: a
// checkpoint would contain them.
func TestASyncThatFailedIsStillOwed(t *testing.T) {
	t.Parallel()
	lost := errors.New("the device is lost")
	p := &Program{machine: away{err: lost}, ahead: true}
	for range 2 {
		if err := p.Sync(); !errors.Is(err, lost) {
			t.Fatalf("error is %v, expected %v", err, lost)
		}
	}
	p.machine = away{}
	if err := p.Sync(); err != nil || p.ahead {
		t.Errorf("error is %v, weights elsewhere: %v", err, p.ahead)
	}
}
