package local

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
)

// ports are those that a stack's servers had last. They are kept in the data folder, so that workers and clients of their own find the
// stack again after it was started anew.
type ports struct {
	Bus int `json:"bus"`
	S3  int `json:"s3"`
}

func portsFile(dataDir string) string { return filepath.Join(dataDir, "ports.json") }

// lastPorts are no more than a wish: without a file that can be read there is none.
func lastPorts(dataDir string) (last ports) {
	if text, err := os.ReadFile(portsFile(dataDir)); err == nil {
		_ = json.Unmarshal(text, &last) // what is not understood is zero: any port
	}
	return last
}

// keepPorts remembers where the servers of a connection listen.
func (c Connection) keepPorts(dataDir string) error {
	text, err := json.Marshal(ports{portOf(c.NATS), portOf(c.S3)})
	if err != nil {
		return err
	}
	return os.WriteFile(portsFile(dataDir), append(text, '\n'), 0o600)
}

func portOf(address string) int {
	at, err := url.Parse(address)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(at.Port())
	return port
}

// onPort starts a server on the port that is asked for. If that may be any, it is the one of last time, or another if the server
// can't start there: somebody else may have it now.
func onPort[S any](asked, last int, start func(port int) (S, error)) (S, error) {
	if asked == 0 && last != 0 {
		if server, err := start(last); err == nil {
			return server, nil
		}
	}
	return start(asked)
}
