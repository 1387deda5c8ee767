package search

import (
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
)

// MaxMessage is what a log's entry holds of why a try failed, at most.
const MaxMessage = 4 << 10

// Said is why a try failed, which comes first, and then what its module printed last: as many whole lines as there is room for.
func Said(why, log string) string {
	why, log = Beginning(strings.TrimSpace(why), MaxMessage/2), strings.TrimSpace(log)
	if log == "" {
		return why
	}
	if room := MaxMessage - len(why) - len("\n"); len(log) > room {
		log = log[len(log)-room:]
		if _, whole, more := strings.Cut(log, "\n"); more {
			log = whole
		}
	}
	return why + "\n" + strings.ToValidUTF8(log, "")
}

// Beginning is a text up to a length, and of no character a part.
func Beginning(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// Failed is the end of a try that failed, and why.
func Failed(trial, message string) tune.Ended {
	return tune.Ended{Trial: trial, Status: tune.Failed, Message: Beginning(message, MaxMessage)}
}
