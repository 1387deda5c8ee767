// Command hello is the smallest module: it learns nothing and says so.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/functions/module"
)

func main() { module.Main(module.Module{Train: train}) }

func train(_ context.Context, a *module.Args) error {
	config := struct {
		Greeting string `json:"greeting"`
	}{Greeting: "hello"}
	if err := a.Config(&config); err != nil {
		return err
	}
	a.Report(1, 1, nil)
	if err := os.MkdirAll(a.ServingModelDir, 0o755); err != nil {
		return err
	}
	a.Result(map[string]float64{"accuracy": 0})
	return os.WriteFile(filepath.Join(a.ServingModelDir, "greeting"), []byte(config.Greeting), 0o600)
}
