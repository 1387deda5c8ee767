package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/storage/s3"
)

// Connection says how other processes of the same user reach a running stack. It holds credentials: its file is for the
// owner's eyes only, and goes when the stack stops.
type Connection struct {
	NATS      string `json:"nats"` // URL, with credentials
	S3        string `json:"s3"`   // URL
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	Root      string `json:"root"` // where artifacts go: s3://bucket
	PID       int    `json:"pid"`
}

// Store is how storage/s3 reaches the stack's bucket.
func (c Connection) Store() s3.Config {
	return s3.Config{Endpoint: c.S3, AccessKey: c.AccessKey, SecretKey: c.SecretKey}
}

// ErrNotRunning says that no stack runs on a data folder.
var ErrNotRunning = errors.New("no local stack is running")

func connectionFile(dataDir string) string { return filepath.Join(dataDir, "connection.json") }

// Secrets are the files and folders of a stack's data folder that modules have no business with: how the stack is reached, and what its bus
// and its store keep.
func Secrets(dataDir string) []string {
	return []string{connectionFile(dataDir), connectionFile(dataDir) + ".next", busDir(dataDir), storeDir(dataDir)}
}

func busDir(dataDir string) string   { return filepath.Join(dataDir, "bus") }
func storeDir(dataDir string) string { return filepath.Join(dataDir, "store") }

// ReadConnection finds the stack that runs on dataDir.
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

// write puts the file in place in one step, so that nobody reads half of it.
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
