package tuner

import (
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
)

// maxMessage is what a log's entry holds of why a try failed, at most.
const maxMessage = 4 << 10

// said is why a try failed, which comes first, and then what its module printed last: as many whole lines as there is room for.
func said(why, log string) string {
	why, log = beginning(strings.TrimSpace(why), maxMessage/2), strings.TrimSpace(log)
	if log == "" {
		return why
	}
	if room := maxMessage - len(why) - len("\n"); len(log) > room {
		log = log[len(log)-room:]
		if _, whole, more := strings.Cut(log, "\n"); more {
			log = whole
		}
	}
	return why + "\n" + strings.ToValidUTF8(log, "")
}

// beginning is a text up to a length, and of no character a part.
func beginning(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

func failed(trial, message string) tune.Ended {
	return tune.Ended{Trial: trial, Status: tune.Failed, Message: beginning(message, maxMessage)}
}
