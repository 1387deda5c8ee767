package bucket

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Credentials of an installation: made when its folder is, kept in it, readable by its owner only.
type Credentials struct {
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
}

// String hides the secret, so that credentials can't get into a log by accident.
func (c Credentials) String() string { return c.AccessKey + ":***" }

// GoString does the same for %#v.
func (c Credentials) GoString() string { return c.String() }

func loadCredentials(file string) (Credentials, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return makeCredentials(file)
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("read credentials: %w", err)
	}
	var c Credentials
	if err := json.Unmarshal(data, &c); err != nil {
		return Credentials{}, fmt.Errorf("read credentials %s: %w", file, err)
	}
	if c.AccessKey == "" || c.SecretKey == "" {
		return Credentials{}, fmt.Errorf("read credentials %s: access_key or secret_key missing", file)
	}
	return c, nil
}

func makeCredentials(file string) (Credentials, error) {
	c := Credentials{AccessKey: "STOKER" + rand.Text()[:14], SecretKey: rand.Text() + rand.Text()[:14]}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return Credentials{}, fmt.Errorf("make credentials: %w", err)
	}
	partial := file + ".partial"
	if err := os.WriteFile(partial, append(data, '\n'), 0o600); err != nil {
		return Credentials{}, fmt.Errorf("make credentials: %w", err)
	}
	if err := os.Rename(partial, file); err != nil {
		return Credentials{}, fmt.Errorf("make credentials: %w", err)
	}
	return c, nil
}
