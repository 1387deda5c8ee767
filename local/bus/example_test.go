package bus_test

import (
	"context"
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/local/bus"
)

func ExampleStart() {
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	server, err := bus.Start(context.Background(), bus.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	conn, err := server.Connect() // within the process; others use URL
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Println(conn.IsConnected())
	// Output: true
}
