package table

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestMain is the command line itself if this binary is called by the program's name: the child
// process of a conversion.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "stoker" {
		os.Exit(m.Run())
	}
	root := &cobra.Command{Use: "stoker", SilenceUsage: true}
	root.AddCommand(NewCommand())
	if root.Execute() != nil {
		os.Exit(1)
	}
}

// tableProgram returns this binary under the name with which it is the command line.
func tableProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "stoker")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	return program
}

func TestTheChildOfATableIsBoundedInTimeAndMemory(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs sh")
	}
	run := func(limit time.Duration, script string) error {
		return runTable(t.Context(), "a.parquet", t.TempDir(), nil, limit, sh, "-c", script)
	}
	if err := run(50*time.Millisecond, "sleep 1000"); err == nil || !strings.Contains(err.Error(), "a.parquet: stopped because reading took more than 50ms: split the file") {
		t.Errorf("time: %v", err)
	}
	if err := run(time.Hour, "echo 'fatal error: runtime: out of memory' >&2; exit 2"); err == nil || !strings.Contains(err.Error(), "takes more than 8 GiB of memory") {
		t.Errorf("memory: %v", err)
	}
	if err := run(time.Hour, "exit 2"); err == nil || !strings.Contains(err.Error(), "the process that read it died (exit status 2)") {
		t.Errorf("end: %v", err)
	}
	if err := run(time.Hour, "yes | head -c 10000000 >&2; exit 0"); err != nil {
		t.Errorf("much on standard error: %v", err)
	}
	cause := errors.New("the caller is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := runTable(ctx, "a.parquet", t.TempDir(), nil, time.Hour, sh, "-c", "sleep 1000"); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}

// A page that claims to unpack to 2 GiB, or to have as many values, is an error of the file.
func TestAHostileParquetFileEndsTheChildOnly(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("testdata/fruits.parquet")
	if err != nil {
		t.Fatal(err)
	}
	program, refused := tableProgram(t), 0
	for at := 4; at < 60; at += 2 {
		bad := append([]byte(nil), good...)
		copy(bad[at:], []byte{0xfe, 0xff, 0xff, 0xff, 0x0f}) // a size or a count of 2^31-1
		path := filepath.Join(t.TempDir(), "bad.parquet")
		folder := t.TempDir()
		question, err := json.Marshal(tableQuestion{Path: path, Folder: folder})
		if err == nil {
			err = os.WriteFile(path, bad, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err = runTable(t.Context(), path, folder, question, time.Hour, program, "table"); err == nil {
			_, err = readAnswer(folder)
		}
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), path) {
				t.Errorf("byte %d: %v", at, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no file was refused")
	}
}

// A record of a Parquet file is located by a child too, which knows rows instead of lines.
func TestTheChildLocatesARecord(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs("testdata/fruits.parquet")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for record, want := range map[int64]string{0: path + ", row ", 1 << 40: ""} {
		question, err := json.Marshal(tableQuestion{Path: path, Folder: folder, Split: "train", Record: record})
		if err != nil {
			t.Fatal(err)
		}
		if err := runTable(t.Context(), path, folder, question, time.Hour, tableProgram(t), "table"); err != nil {
			t.Fatal(err)
		}
		a, err := readAnswer(folder)
		if !strings.HasPrefix(a.At, want) || (err == nil) != (want != "") {
			t.Errorf("record %d is at %q, %v; want %s", record, a.At, err, want)
		}
	}
}
