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

// TestMain runs the tests in namespaces of their own, with a cluster of two nodes.
func TestMain(m *testing.M) {
	os.Exit(kube.Main(func(dir string) int {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		var err error
		if api, err = kube.Start(dir, "../../../bin/kubernetes"); err == nil {
			err = api.StartNodes(ctx, 2, "../../../bin/image")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "kubernetes:", err)
		} else {
			fmt.Fprintln(os.Stderr, "kubernetes: up in", dir)
		}
		if hold := os.Getenv("HOLD"); hold != "" {
			d, _ := time.ParseDuration(hold)
			time.Sleep(d)
		}
		if err != nil {
			return 1
		}
		return m.Run()
	}))
}

func TestNothing(t *testing.T) {}
