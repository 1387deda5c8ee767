package oracle_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"

	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle"
)

// A process of unmodified KerasTuner takes trials from the log of a study: its settings name the
// server as its chief.
func ExampleWith() {
	var study oracle.Backend // of the study's log, by package tuner
	tune := func(ctx context.Context, tuner string) error {
		return oracle.With(ctx, study, func(server *oracle.Server) error {
			host, port, err := net.SplitHostPort(server.Address())
			if err != nil {
				return err
			}
			// tune.py builds a keras_tuner.Tuner and calls its search.
			cmd := exec.CommandContext(ctx, "python3", "tune.py")
			cmd.Env = append(os.Environ(), "KERASTUNER_ORACLE_IP="+host, "KERASTUNER_ORACLE_PORT="+port, "KERASTUNER_TUNER_ID="+tuner)
			return cmd.Run()
		})
	}
	if err := tune(context.Background(), "tuner0"); err != nil {
		fmt.Println(err)
	}
}
