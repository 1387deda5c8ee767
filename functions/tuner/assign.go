package tuner

import (
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
)

// assign tells the module what to do, in the words of TFX's FnArgs: those that a Tuner component fills.
func assign(a *execution.Attempt) (module.Assignment, error) {
	told, err := base(a)
	told.Call = module.CallTune
	told.BestHyperparametersDir = a.Desk.Out(bestKey)
	told.TunerResultsDir = a.Desk.Out(resultsKey)
	return told, err
}

// base is what a search and each of its trials are told alike.
func base(a *execution.Attempt) (module.Assignment, error) {
	search := a.Execution.Spec.Search()
	told, err := a.Assignment(search.TrainArgs, search.EvalArgs)
	told.Call = module.CallTrial
	told.CustomConfig = search.CustomConfig
	told.Strategy = search.Resources.Strategy
	told.Seed = search.Seed
	return told, err
}
