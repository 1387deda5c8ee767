package s3

import (
	"io"
	"net"
	"testing"

	"golang.org/x/sync/errgroup"
)

// Without this, the embedded server takes ten seconds to close.
func TestAConnectionThatNobodyUsesIsGivenUp(t *testing.T) {
	t.Parallel()
	client, server := net.Pipe()
	conn := watch(client, defaultStall)
	defer conn.Close()
	if _, err := server.Read(make([]byte, 1)); err != io.EOF { // returns when the other side closes
		t.Error(err)
	}
}

func TestAConnectionInUseIsKept(t *testing.T) {
	t.Parallel()
	client, server := net.Pipe()
	defer server.Close()
	conn := watch(client, defaultStall)
	defer conn.Close()
	var g errgroup.Group
	g.Go(func() error {
		_, err := io.ReadFull(server, make([]byte, 3))
		return err
	})
	if _, err := conn.Write([]byte("GET")); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if conn.unused.Stop() {
		t.Error("the timer still runs")
	}
}
