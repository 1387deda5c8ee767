package telemetry_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// TestMain is also the child process of runner: this test binary acts as stoker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "module" {
		os.Exit(module.Process(context.Background(), builtin.Module()))
	}
	if bus := os.Getenv(doomedEnv); bus != "" {
		fmt.Fprintln(os.Stderr, doom(context.Background(), bus))
		os.Exit(1)
	}
	os.Exit(m.Run())
}
