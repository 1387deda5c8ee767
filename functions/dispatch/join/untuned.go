package join

import (
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// TuningFailed begins the message of a run that has ended because its tuning failed.
const TuningFailed = "tuning failed"

// mostWhy keeps a join small: the whole of it is in the fact.
const mostWhy = 300

// whyOf is the first line of why a tuning failed, "" for any other fact.
func whyOf(data events.Data) string {
	failed, ok := data.(*events.TuningFailed)
	if !ok {
		return ""
	}
	why, _, _ := strings.Cut(failed.Message, "\n")
	if len(why) > mostWhy {
		why = why[:mostWhy] + "..."
	}
	return strings.ToValidUTF8(why, "")
}

// untuned says that a run's tuning failed, and why the run ends by that.
func (j Join) untuned(ends string) string {
	message := TuningFailed
	if fact, _ := j.Fact(events.KindTuningFailed); fact.Why != "" {
		message += ": " + fact.Why
	}
	return message + "; " + ends
}
