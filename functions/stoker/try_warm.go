package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/module"
)

// warmStarted is what came of --base-model.
type warmStarted struct {
	BaseModel string `json:"base_model"`
	Params    int    `json:"params"` // of the new model
	Taken     int    `json:"taken"`  // of these from the base model
	Table     string `json:"table"`  // file that has them all
}

// warmStarted reads the table that compiled-in modules leave in model_run; nil where there is no base model, and with a
// word of warning where there is no table: then it is the module's alone to know what it started from.
func (a *app) warmStarted(assignment module.Assignment) *warmStarted {
	if assignment.BaseModel == "" {
		return nil
	}
	var table warmstart.Table
	text, err := os.ReadFile(filepath.Join(assignment.ModelRunDir, warmstart.TableFile+".json"))
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil || len(table.Params) == 0 {
		fmt.Fprintf(a.notes(), "the module left no table of what it took from --base-model %s (%s.json in model_run): it may not have used it\n",
			assignment.BaseModel, warmstart.TableFile)
		return nil
	}
	return &warmStarted{assignment.BaseModel, len(table.Params), table.Taken(), filepath.Join(assignment.ModelRunDir, warmstart.TableFile+".txt")}
}

func (w warmStarted) String() string {
	return fmt.Sprintf("%d of %d params taken from %s, see %s", w.Taken, w.Params, w.BaseModel, w.Table)
}
