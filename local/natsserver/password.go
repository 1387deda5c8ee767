package natsserver

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	user         = "stoker"
	passwordFile = "password"
	minPassword  = 20 // characters: what is shorter was cut off
)

// readPassword returns this installation's password, and makes one the first time. Only the owner
// can read its file.
func readPassword(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, passwordFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return writePassword(path)
	}
	if err != nil {
		return "", err
	}
	password := strings.TrimSpace(string(text))
	if len(password) < minPassword {
		return "", fmt.Errorf("%s: expected %d characters or more, got %d; delete the file for a new one", path, minPassword, len(password))
	}
	return password, os.Chmod(path, 0o600)
}

// writePassword puts the file in place in one step, and leaves one that someone else was quicker to
// write.
func writePassword(path string) (string, error) {
	next, err := os.CreateTemp(filepath.Dir(path), passwordFile+"-*") // mode 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(next.Name())
	_, err = fmt.Fprintln(next, rand.Text())
	if err := errors.Join(err, next.Close()); err != nil {
		return "", err
	}
	if err := os.Link(next.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}

// gate admits clients that know the password.
type gate struct{ password string }

// Check implements server.Authentication.
func (g gate) Check(client server.ClientAuthentication) bool {
	given := client.GetOpts()
	return subtle.ConstantTimeCompare([]byte(given.Username), []byte(user))&
		subtle.ConstantTimeCompare([]byte(given.Password), []byte(g.password)) == 1
}
