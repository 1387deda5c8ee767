package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

const (
	includes = "package main\n\n// #include %q\nimport \"C\"\n\nfunc main() {}\n"
	embeds   = `package main

/*
__asm__(".section .rodata\n.global loot\nloot: .incbin \"%s\"\n.byte 0\n.text");
extern char loot[];
static char *get(void) { return loot; }
*/
import "C"

func main() { println(C.GoString(C.get())) }
`
)

// The compiler of C reads what a source names: what a module can't read is not built into it, nor does an error quote it.
func TestABuildReadsNoHiddenFile(t *testing.T) {
	const secret = "aws_secret_access_key=of-the-worker"
	file, cache := filepath.Join(t.TempDir(), "credentials"), t.TempDir()
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := New(Options{CacheDir: cache, Hidden: []string{filepath.Dir(file)}})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	for _, source := range []string{embeds, includes} {
		folder := sourceFolder(t, fmt.Sprintf(source, file))
		built, err := host.build(t.Context(), folder)
		if err == nil {
			text, err := os.ReadFile(built.line[0])
			built.close()
			t.Errorf("it was built; it holds the hidden file: %t, %v", bytes.Contains(text, []byte(secret)), err)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error quotes the hidden file: %v", err)
		}
	}
}

// The go command quotes lines of go.mod and of sources that it does not understand, and follows links to them.
func TestGoListReadsNoHiddenFile(t *testing.T) {
	if process.CanSandbox() != nil {
		t.Skip("nothing keeps the go command from files here: ", process.CanSandbox())
	}
	const secret = "aws_secret_access_key"
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte(secret+" = of-the-worker\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := New(Options{CacheDir: t.TempDir(), Hidden: []string{filepath.Dir(file)}})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	for _, name := range []string{"go.mod", "main.go", "other.go"} {
		folder := sourceFolder(t, "package main\n\nfunc main() {}\n")
		link := filepath.Join(folder, name)
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		_, digestErr := host.Digest(t.Context(), module.Source{Path: folder})
		_, buildErr := host.build(t.Context(), folder)
		for what, err := range map[string]error{"digest": digestErr, "build": buildErr} {
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s of a module whose %s is a link: %v, want an error that quotes nothing", what, name, err)
			}
		}
	}
}

// Where a compiler of C is installed, and the kernel keeps the build from hidden files, modules may use it; elsewhere where the operator
// says so.
func TestModulesWithCAreBuiltWhereThatIsSafeOrAllowed(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		return // nothing builds C here
	}
	const source = "package main\n\n// int one(void) { return 1; }\nimport \"C\"\n\nfunc main() { println(C.one()) }\n"
	for _, c := range []struct {
		sandbox, cgo string
		want         bool
	}{{"auto", "", process.CanSandbox() == nil}, {"off", "", false}, {"off", "1", true}} {
		t.Setenv(process.SandboxEnv, c.sandbox)
		t.Setenv(cgoEnv, c.cgo)
		host, err := New(Options{CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		built, err := host.build(t.Context(), sourceFolder(t, source))
		if (err == nil) != c.want {
			t.Errorf("sandbox %s, %s=%s: %v, want that it is built: %t", c.sandbox, cgoEnv, c.cgo, err, c.want)
		}
		built.close()
		host.Close()
	}
}

func sourceFolder(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n\ngo 1.22\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}
