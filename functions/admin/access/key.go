package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nats-io/nkeys"
)

// NewKey creates a user's nkey: it writes the seed to a new file that only its owner can read, and
// returns the public key for the server's configuration. It never overwrites a file, because a seed
// can't be restored.
func NewKey(file string) (public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", fmt.Errorf("create an nkey: %w", err)
	}
	defer pair.Wipe()
	seed, err := pair.Seed()
	if err != nil {
		return "", fmt.Errorf("create an nkey: %w", err)
	}
	if public, err = pair.PublicKey(); err != nil {
		return "", fmt.Errorf("create an nkey: %w", err)
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("write an nkey's seed: %w, and seeds are never overwritten: name another file", err)
	}
	if err != nil {
		return "", fmt.Errorf("write an nkey's seed: %w", err)
	}
	_, err = out.Write(append(seed, '\n'))
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return "", fmt.Errorf("write an nkey's seed: %w", err)
	}
	return public, nil
}
