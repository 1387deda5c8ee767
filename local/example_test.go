package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/local"
)

// Both servers run while a function does. Meanwhile other processes of this user find them by their
// data directory.
func ExampleWith() {
	dir, err := os.MkdirTemp("", "stoker-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	err = local.With(context.Background(), local.Options{DataDir: dir}, func(_ context.Context, servers *local.Servers) error {
		withdraw, err := servers.Announce(servers.Connection("s3://artifacts"))
		if err != nil {
			return err
		}
		connection, err := local.ReadConnection(dir)
		if err != nil {
			return err
		}
		fmt.Println(connection.Root, connection.PID == os.Getpid(), connection.Store().Endpoint == connection.S3)
		return withdraw()
	})
	fmt.Println(err)
	_, err = local.ReadConnection(dir)
	fmt.Println(errors.Is(err, local.ErrNotRunning))
	// Output:
	// s3://artifacts true true
	// <nil>
	// true
}
