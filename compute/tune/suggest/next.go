package suggest

import "github.com/stoker-ml/stoker/compute/tune"

// Next says what somebody who is free does: Try the suggestion, Wait for another trial to end, or nothing any more, Over. It is asked for
// new trials only: those whose try failed go before, see Study.Retry. An error is a fault of the study's config.
//
// First come the study's defaults and points, then what its algorithm says. A point that was tried in this study is not tried again.
func Next(s *tune.Study) (tune.Suggestion, tune.Verdict, error) { panic("TPE's") }
