// Package admin has the commands of operators: dead letters, replay, garbage collection, access,
// streams, Python environments, diagnosis.
package admin

import (
	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// Commands returns the commands of the group.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		newDead(a),
		newReplay(a),
		newGC(a),
		newAccess(a),
		newStreams(a),
		newPython(a),
		newDoctor(a),
		newConfig(a),
		newVersion(a),
		newMan(a),
	}
}
