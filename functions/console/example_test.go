package console_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/console"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// The console serves the page of a run on a listener. Everybody who can connect may read.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	bus, store := bustest.NewMemory(0), storagetest.NewMemory("artifacts")
	ready := &events.TransformReady{TransformGraph: "s3://artifacts/graph/17"}
	if _, err := bus.Publish(ctx, events.Event{ID: "graph-17", Source: "/tfx", Pipeline: "penguin", Run: "17", Data: ready}); err != nil {
		fmt.Println(err)
		return
	}
	c, err := console.New(console.Options{Bus: bus, Store: store, Root: storage.Ref{Bucket: "artifacts"}, Readers: console.Everybody})
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 2)
	go func() { ended <- c.Run(ctx) }() // follows the bus
	go func() { ended <- c.Serve(ctx, listener) }()

	answer, err := http.Get("http://" + listener.Addr().String() + "/run?pipeline=penguin&run=17")
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	fmt.Println(answer.Status, answer.Header.Get("Content-Type"), strings.Contains(string(page), "graph-17"), err)
	stop()
	fmt.Println(<-ended, <-ended)
	// Output:
	// 200 OK text/html; charset=utf-8 true <nil>
	// <nil> <nil>
}
