package kubernetes_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/infra/kubernetes/kube"
)

// server is an API server, for tests.
type server struct{ *kube.Server }

// api is the server that all tests use.
var api server

// TestMain runs the tests, etcd and the API server in namespaces of their own.
func TestMain(m *testing.M) {
	os.Exit(kube.Main(func(dir string) int {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var err error
		if api.Server, err = kube.Start(dir, "../../bin/kubernetes"); err == nil {
			err = api.Define(ctx)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "kubernetes:", err)
			return 1
		}
		return m.Run()
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
