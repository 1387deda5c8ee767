package natsserver_test

import (
	"context"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/local/natsserver"
)

func ExampleStart() {
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	server, err := natsserver.Start(context.Background(), natsserver.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	conn, err := nats.Connect(server.URL())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Println(conn.IsConnected())
	// Output: true
}
