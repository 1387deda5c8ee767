package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/storage"
)

// Connection is how processes of the same user reach running servers. It holds credentials: its
// file is readable by the owner only, and exists while the stack runs.
type Connection struct {
	NATS      string `json:"nats"` // URL, with credentials
	S3        string `json:"s3"`   // URL
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	Root      string `json:"root"` // where artifacts go: s3://bucket
	PID       int    `json:"pid"`
}

// Store returns how the stack's store is reached.
func (c Connection) Store() storage.Access {
	return storage.Access{Endpoint: c.S3, AccessKey: c.AccessKey, SecretKey: c.SecretKey}
}

// ErrNotRunning is in the chain of the error if no stack runs on a data directory.
var ErrNotRunning = errors.New("no local stack is running")

func connectionFile(dataDir string) string { return filepath.Join(dataDir, "connection.json") }
func busDir(dataDir string) string         { return filepath.Join(dataDir, "bus") }
func storeDir(dataDir string) string       { return filepath.Join(dataDir, "store") }

// Secrets returns the files and directories below a data directory that modules must not read: the
// connection, and what the bus and the store keep.
func Secrets(dataDir string) []string {
	return []string{connectionFile(dataDir), connectionFile(dataDir) + ".next", busDir(dataDir), storeDir(dataDir)}
}

// ReadConnection returns the connection of the stack that runs on dataDir; ErrNotRunning, wrapped,
// if none does.
func ReadConnection(dataDir string) (Connection, error) {
	text, err := os.ReadFile(connectionFile(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return Connection{}, fmt.Errorf("%s: %w", dataDir, ErrNotRunning)
	}
	if err != nil {
		return Connection{}, err
	}
	var c Connection
	if err := json.Unmarshal(text, &c); err != nil {
		return Connection{}, fmt.Errorf("%s: %w", connectionFile(dataDir), err)
	}
	return c, nil
}

// Announce writes the connection and the ports into the data directory, until the returned function
// removes the connection.
func (s *Servers) Announce(c Connection) (withdraw func() error, err error) {
	if err := errors.Join(c.keepPorts(s.dataDir), c.write(s.dataDir)); err != nil {
		return nil, err
	}
	return func() error { return os.Remove(connectionFile(s.dataDir)) }, nil
}

// write replaces the file in one step, so that no process reads half of it.
func (c Connection) write(dataDir string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	next := connectionFile(dataDir) + ".next"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, connectionFile(dataDir))
}
