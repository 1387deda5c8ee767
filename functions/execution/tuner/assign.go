package tuner

import (
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
)

// tuning tells the module to tune, in the words of TFX's FnArgs: those that a Tuner component fills.
func (s *seat) tuning() module.Assignment {
	told := s.told
	told.Call = module.CallTune
	told.BestHyperparametersDir = s.attempt.Desk.Out(bestKey)
	told.TunerResultsDir = s.attempt.Desk.Out(resultsKey)
	return told
}

// base is what a search and each of its trials are told alike.
func base(a *execution.Attempt) (module.Assignment, error) {
	search := a.Execution.Spec.Search()
	told, err := a.Assignment(search.TrainArgs, search.EvalArgs)
	told.Call = module.CallTrial
	told.CustomConfig = search.CustomConfig
	told.Strategy = search.Resources.Strategy
	told.Seed, told.Deterministic = search.Seed, bool(a.Execution.Spec.Trainer.Deterministic)
	return told, err
}
