package runner

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A module of the same user, without a sandbox, or whoever provides the program can replace it at any time. A script is executed by its path:
// it finds files beside it by that, which its digest does not name either.
func TestAPrebuiltModuleThatIsReplacedAfterItsDigestDoesNotRun(t *testing.T) {
	t.Parallel()
	echo, err := exec.LookPath("echo")
	if err != nil {
		t.Fatal(err)
	}
	binaryText, err := os.ReadFile(echo)
	if err != nil {
		t.Fatal(err)
	}
	for kind, tc := range map[string]struct {
		text []byte
		want string
	}{
		"binary": {binaryText, "original"}, "script": {[]byte("#!/bin/sh\necho \"$@\"\n"), "original"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			host, err := New(Options{CacheDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			path := filepath.Join(t.TempDir(), "module")
			put := func(text []byte) {
				t.Helper()
				syscall.ForkLock.RLock() // else a process that another test starts holds the file open: "text file busy"
				err := os.WriteFile(path+".new", text, 0o755)
				syscall.ForkLock.RUnlock()
				if err == nil {
					err = os.Rename(path+".new", path)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			put(tc.text)
			digest, err := host.files.of(path)
			if err != nil {
				t.Fatal(err)
			}
			p, err := host.program(t.Context(), code{kind: binary, path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			put([]byte("#!/bin/sh\necho replaced\n"))
			p.line = append(p.line, "original")
			c, err := host.start(p, host.env)
			if err != nil {
				t.Fatal(err)
			}
			defer c.End()
			if err := c.Output.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // far off: so that a red test ends
				t.Fatal(err)
			}
			if said, err := io.ReadAll(c.Output); strings.TrimSpace(string(said)) != tc.want || c.digest != digest {
				t.Errorf("it says %q, %v, and is known as %s; want %s, digest %s", said, err, c.digest, tc.want, digest)
			}
		})
	}
}
