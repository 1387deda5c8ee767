package tfevents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// fileMark is in the name of every event file; TensorBoard recognizes event files only by it.
const fileMark = "tfevents"

// IsEventFile reports whether a path, slash-separated or local, has the name of an event file.
func IsEventFile(name string) bool {
	return strings.Contains(path.Base(filepath.ToSlash(name)), fileMark)
}

// create creates a new event file in dir. Its name sorts after that of every event file there,
// whatever the clocks of their writers: files are read in the order of their names.
func create(dir string, now time.Time, o Options) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	seconds, err := nextSecond(dir, now.Unix())
	if err != nil {
		return nil, err
	}
	for number := 0; ; number++ {
		name := fmt.Sprintf("events.out.%s.%010d.%s.%d.%d.v2", fileMark, seconds, o.Host, o.PID, number)
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// nextSecond returns now, or one more than the latest second in a file name of dir.
func nextSecond(dir string, now int64) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		_, rest, found := strings.Cut(e.Name(), fileMark+".")
		digits, _, _ := strings.Cut(rest, ".")
		seconds, err := strconv.ParseInt(digits, 10, 64)
		if found && err == nil && seconds >= now && seconds < maxSeconds {
			now = seconds + 1
		}
	}
	return now, nil
}

// maxSeconds has ten digits: larger numbers in names no longer sort as numbers do.
const maxSeconds = 9_999_999_999

// plainHost returns a host's name without characters that would end a path element or a part of the
// file's name that readers look for.
func plainHost(host string) string {
	host = strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, host)
	if host == "" {
		return "localhost"
	}
	return host
}
