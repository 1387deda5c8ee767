package nn

import (
	"sync"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// machines is what UseMachines was given.
var machines struct {
	sync.Mutex
	make func(*plan.Plan) (plan.Machine, error)
}

// UseMachines lets every Program that is made from now on run on what make gives, in the place of this computer's cores: a binary for
// a device calls it once, at start.
func UseMachines(make func(*plan.Plan) (plan.Machine, error)) {
	machines.Lock()
	defer machines.Unlock()
	machines.make = make
}

func newMachine(compiled *plan.Plan, team *kernel.Team) (plan.Machine, error) {
	machines.Lock()
	make := machines.make
	machines.Unlock()
	if make == nil {
		return plan.NewMachine(compiled, team), nil
	}
	return make(compiled)
}
