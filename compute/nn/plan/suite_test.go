package plan_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
	"github.com/stoker-ml/stoker/compute/nn/plan/plantest"
)

func TestMachinesOfThisComputerPassTheSuite(t *testing.T) {
	t.Parallel()
	plantest.Suite(t, func(p *plan.Plan) (plan.Machine, error) {
		return plan.NewMachine(p, kernel.NewThreadPool(1)), nil
	})
}
