package report_test

import (
	"os"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
)

// A study that was not begun has a header and no rows.
func ExampleReport_CSV() {
	_ = report.Of(&tune.Study{}).CSV(os.Stdout)
	// Output:
	// trial,status,best,score,step,parent,from,epochs,bracket,round,stopped,breaks_constraints,tries,started,ended,seconds,message
}
