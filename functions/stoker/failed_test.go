package main

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/runs/find"
)

// The commands that a failure hints at find the data of the one that failed.
func TestHintsAfterAFailureNameTheDataDirectory(t *testing.T) {
	t.Parallel()
	a := &app{self: "stoker", dataDir: "/elsewhere"}
	var failed, dead find.Detail
	failed.Pipeline, failed.Run = "penguin", "monday"
	dead = failed
	dead.DeadLetter, dead.Failed.Log = 2, "s3://stoker/log"
	for _, hint := range []string{a.wayOn(failed), a.wayOn(dead)} {
		if commands, data := strings.Count(hint, "`")/2, strings.Count(hint, " --data /elsewhere`"); commands == 0 || commands != data {
			t.Errorf("%d of %d commands name the data directory: %s", data, commands, hint)
		}
	}
}
