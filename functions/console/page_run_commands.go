package console

import (
	"fmt"
	"strconv"

	"github.com/stoker-ml/stoker/functions/runs"
)

// asOf names the revision of the pipeline that a command uses.
func asOf(revision uint64) string {
	if revision == 0 {
		return ""
	}
	return fmt.Sprintf(" with revision %d of the pipeline", revision)
}

// addCommands adds commands that help a run, or export its model.
func (v *runView) addCommands(c *Console) {
	f := frame{c: c}
	name, of := quoted(v.Run), "--pipeline "+v.Pipeline
	add := func(purpose, text string) { v.Commands = append(v.Commands, commandLine{purpose, text}) }
	switch v.State {
	case runs.Trained:
		add("Copy the model", f.Command("models pull", v.Pipeline, "--run", name, "--to", "./"+v.Pipeline))
		add("Serve it with TensorFlow Serving", f.Command("models pull", v.Pipeline, "--run", name, "--to", "./serving/"+v.Pipeline, "--serving")+
			" &&\ntensorflow_model_server --rest_api_port=8501 --model_name="+v.Pipeline+` --model_base_path="$PWD/serving/`+v.Pipeline+`"`)
		add("Look into its curves with TensorBoard", f.Command("models pull", v.Pipeline, "--run", name, "--to", "./"+v.Pipeline, "--model-run")+
			" &&\ntensorboard --logdir ./"+v.Pipeline+"/model_run")
	case runs.Failed, runs.Cancelled, runs.Expired:
		add("All that is known of it", f.Command("runs show", name, of))
		if v.DeadLetter != 0 {
			add("Try it again"+asOf(v.Revision)+", once the cause is mended", f.Command("dead retry", strconv.FormatUint(v.DeadLetter, 10)))
		} else if v.Job != "" {
			add("Train it anew"+asOf(v.Revision), f.Command("replay", "--run", name, of, "--force"))
		}
		if v.Applied != 0 {
			add("Start its inputs again"+asOf(v.Applied)+", which is applied now", f.Command("runs rerun", name, of))
		}
	case runs.Held:
		if v.Position != nil && v.Position.Paused {
			add("Let the pipeline's runs go on", f.Command("resume", v.Pipeline))
		}
		add("Give it up", f.Command("cancel", name, of))
	case runs.Unclear:
		add("What is known of it", f.Command("runs show", name, of))
	default:
		add("Give it up", f.Command("cancel", name, of))
	}
}
