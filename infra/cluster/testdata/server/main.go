// Command server is one NATS server of a cluster, as a child process of a test. It is built with the
// overlay of package cluster, which adds SetWallOffset to package time, and by nothing else.
//
// It reads its options as JSON from STOKER_CLUSTER_SERVER, prints the ports that it listens on as one line
// of JSON, and then reads commands from its standard input, one a line: the offset of its wall clock in
// nanoseconds. It ends when its standard input does.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

type options struct {
	Name   string        `json:"name"`
	Dir    string        `json:"dir"`
	Routes []string      `json:"routes"`
	Offset time.Duration `json:"offset"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run() error {
	var o options
	if err := json.Unmarshal([]byte(os.Getenv("STOKER_CLUSTER_SERVER")), &o); err != nil {
		return fmt.Errorf("read options: %w", err)
	}
	time.SetWallOffset(int64(o.Offset))
	s, err := server.NewServer(serverOptions(o))
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	go s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return fmt.Errorf("%s does not listen within a minute", o.Name)
	}
	ports := struct{ Client, Cluster int }{
		s.Addr().(*net.TCPAddr).Port, s.ClusterAddr().Port,
	}
	if err := json.NewEncoder(os.Stdout).Encode(ports); err != nil {
		return err
	}
	return obey()
}

const nowhere = "127.0.0.1:1" // nothing listens there

func serverOptions(o options) *server.Options {
	out := &server.Options{
		ServerName: o.Name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, LogFile: o.Dir + ".log", Logtime: true,
		JetStream: true, StoreDir: o.Dir, SyncAlways: true, JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 8 << 30,
		Cluster: server.ClusterOpts{
			Name: "chaos", Host: "127.0.0.1", Port: -1, NoAdvertise: true,
			Advertise: nowhere, // what others learn by gossip, so that all goes through the proxies
		},
	}
	for _, route := range append(o.Routes, nowhere) { // JetStream in a cluster asks for one, also of a server that only others dial
		out.Routes = append(out.Routes, &url.URL{Scheme: "nats", Host: route})
	}
	return out
}

// obey sets the clock as it is asked to, until standard input ends: the test is gone then, or wants the server gone.
func obey() error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		offset, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			return fmt.Errorf("offset of the clock: %w", err)
		}
		time.SetWallOffset(offset)
	}
	return lines.Err()
}
