package nodes_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/infra/kubernetes/kube"
)

// api is the server of the cluster that all tests use.
var api *kube.Server

// stoker is what is installed on it.
var stoker *installation

// TestMain runs the tests in namespaces of their own, with a cluster of two nodes.
func TestMain(m *testing.M) {
	os.Exit(kube.Main(func(dir string) int {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
		defer cancel()
		var err error
		if api, err = kube.Start(dir, "../../../bin/kubernetes"); err == nil {
			err = api.StartNodes(ctx, 3, "../../../bin/image")
		}
		if err == nil {
			err = api.StartAddons(ctx)
		}
		if err == nil {
			stoker, err = install(ctx, dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "kubernetes:", err)
		} else {
			fmt.Fprintln(os.Stderr, "kubernetes: up in", dir)
		}
		if err != nil {
			return 1
		}
		defer stay()
		return m.Run()
	}))
}

// stay keeps the cluster after the tests for the time in STOKER_KUBERNETES_STAY, such as 10m, so
// that one can look at it.
func stay() {
	if duration, err := time.ParseDuration(os.Getenv("STOKER_KUBERNETES_STAY")); err == nil {
		time.Sleep(duration)
	}
}
