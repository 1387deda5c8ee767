package cluster

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// BuildTool compiles the nats tool, at the version that infra/natscli pins, to the file nats in a
// folder.
func BuildTool(folder string) error {
	_, here, _, _ := runtime.Caller(0)
	cmd := exec.Command("go", "build", "-o", filepath.Join(folder, "nats"), "github.com/nats-io/natscli/nats")
	cmd.Dir = filepath.Join(filepath.Dir(here), "../natscli")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the nats tool: %w\n%s", err, said)
	}
	return nil
}
