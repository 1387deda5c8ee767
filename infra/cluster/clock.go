package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The texts of package time that the overlay replaces, and their replacements.
const (
	clockRead    = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	clockShifted = clockRead + "\tsec, nsec = shifted(sec, nsec)\n"

	clockFile = `package time

import "sync/atomic"

var wallOffset atomic.Int64

// SetWallOffset sets how far Now is ahead of the real wall clock, in nanoseconds.
func SetWallOffset(ns int64) { wallOffset.Store(ns) }

func shifted(sec int64, nsec int32) (int64, int32) {
	ns := int64(nsec) + wallOffset.Load()
	sec += ns / 1e9
	if ns %= 1e9; ns < 0 {
		ns += 1e9
		sec--
	}
	return sec, int32(ns)
}
`
)

// build compiles the server with a clock that can be set, and returns the path of the binary.
func build(dir string) (string, error) {
	overlay, err := writeOverlay(dir)
	if err != nil {
		return "", fmt.Errorf("overlay package time: %w", err)
	}
	_, here, _, _ := runtime.Caller(0)
	binary := filepath.Join(dir, "nats-server")
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", binary, "./testdata/server")
	cmd.Dir, cmd.Env = filepath.Dir(here), append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the NATS server: %w\n%s", err, said)
	}
	return binary, nil
}

// writeOverlay makes the files of the overlay from the installed Go's own, and the file that names
// them.
func writeOverlay(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	at := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(at, "time.go"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), clockRead); n != 1 {
		return "", fmt.Errorf("%s/time.go reads the clock in Now %d times as expected, not once; adapt clockRead", at, n)
	}
	files := map[string]string{
		filepath.Join(at, "time.go"):        strings.Replace(string(text), clockRead, clockShifted, 1),
		filepath.Join(at, "wall_offset.go"): clockFile,
	}
	replace := map[string]string{}
	for name, text := range files {
		replace[name] = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(replace[name], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}
