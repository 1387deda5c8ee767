package python

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// record is what is known of an interpreter, in a file of its own below the cache directory. It is
// valid as long as none of the watched files has changed: installing or removing a package changes
// the directory that packages are in.
type record struct {
	Probed probed `json:"probed"`
	// Modification time in nanoseconds by path; 0: it doesn't exist.
	Seen map[string]int64 `json:"seen"`
}

// known returns what an interpreter has. It doesn't start the interpreter if there is a valid
// record.
func known(ctx context.Context, by Runner, cache, interpreter string) (Environment, error) {
	path := recordPath(cache, interpreter)
	if r, err := readRecord(path); err == nil && maps.Equal(r.Seen, seen(r.Probed.Watched)) {
		return r.Probed.environment(by)
	}
	r, err := look(ctx, by, interpreter)
	if err != nil {
		return Environment{}, err
	}
	// Otherwise it is a script that chooses an interpreter, and may choose another one.
	if path != "" && sameFile(r.Probed.Interpreter, interpreter) {
		if err := writeRecord(path, r); err != nil {
			return Environment{}, fmt.Errorf("save the packages of Python %s: %w", interpreter, err)
		}
	}
	return r.Probed.environment(by)
}

// look asks an interpreter what it has, and once more if that has changed meanwhile: it may have
// seen half of an installation. Changes during the second time are noticed later, because the
// record has the time before.
func look(ctx context.Context, by Runner, interpreter string) (record, error) {
	began := time.Now()
	p, err := probe(ctx, by, interpreter)
	if err != nil {
		return record{}, err
	}
	r := record{Probed: p, Seen: seen(p.Watched)}
	if !r.changedSince(began) {
		return r, nil
	}
	r.Probed, err = probe(ctx, by, interpreter)
	return r, err
}

func (r record) changedSince(began time.Time) bool {
	for _, changed := range r.Seen {
		if changed >= began.UnixNano() {
			return true
		}
	}
	return false
}

// recordPath contains the script's hash, because another script asks for other things.
func recordPath(cache, interpreter string) string {
	if cache == "" {
		return ""
	}
	return filepath.Join(cache, "interpreters", fmt.Sprintf("%x.json", sha256.Sum256([]byte(probeScript+"\x00"+interpreter)))[:32]+".json")
}

// readRecord returns an error if the record can't be read: it is written again then.
func readRecord(path string) (record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return record{}, err
	}
	var r record
	return r, json.Unmarshal(text, &r)
}

func writeRecord(path string, r record) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeWhole(path, text)
}

// writeWhole makes a file appear with all of its content, even if several processes write it at
// once.
func writeWhole(path string, text []byte) error { return writeBy(filepath.Dir(path), path, text) }

// writeBy writes a file that exists either complete or not at all, through a directory on the same
// file system.
func writeBy(dir, path string, text []byte) error {
	partial, err := os.CreateTemp(dir, ".partial-")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())
	if _, err = partial.Write(text); err == nil {
		err = partial.Chmod(0o644) // a cache may be made by one user and read by another
	}
	if closeErr := partial.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(partial.Name(), path)
}

func seen(paths []string) map[string]int64 {
	times := map[string]int64{}
	for _, path := range paths {
		times[path] = 0
		if info, err := os.Stat(path); err == nil {
			times[path] = info.ModTime().UnixNano()
		}
	}
	return times
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
