package python_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// A package that is installed from a directory or a repository keeps its version while its code
// changes: two installations of one version are two environments.
func TestCodeOfOneVersionIsDistinguished(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// As direct_url.json has it; %s is the directory of the source.
		origin string
		change func(t *testing.T, source, site, info string) // the version stays
	}{
		"from a folder": {`{"url": "file://%s", "dir_info": {}}`, func(t *testing.T, source, site, info string) {
			put(t, filepath.Join(info, "RECORD"), "own.py,sha256=second,4\nown-1.0.dist-info/RECORD,,\n")
			put(t, filepath.Join(site, "touched.py"), "")
		}},
		"from a repository": {`{"url": "https://git.example/own.git", "vcs_info": {"vcs": "git", "commit_id": "a1"}}`,
			func(t *testing.T, source, site, info string) {
				put(t, filepath.Join(info, "direct_url.json"),
					`{"url": "https://git.example/own.git", "vcs_info": {"vcs": "git", "commit_id": "b2"}}`)
				put(t, filepath.Join(site, "touched.py"), "")
			}},
		"to be edited": {`{"url": "file://%s", "dir_info": {"editable": true}}`, func(t *testing.T, source, site, info string) {
			put(t, filepath.Join(source, "own", "layers.py"), "second")
		}},
		"to be edited, a new file": {`{"url": "file://%s", "dir_info": {"editable": true}}`, func(t *testing.T, source, site, info string) {
			put(t, filepath.Join(source, "own", "more.py"), "")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, env, cache := filepath.Join(t.TempDir(), "a b"), t.TempDir(), t.TempDir()
			put(t, filepath.Join(source, "own", "layers.py"), "first")
			interpreter, site := bareEnvironment(t, env)
			info := filepath.Join(site, "own-1.0.dist-info")
			put(t, filepath.Join(info, "METADATA"), "Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
			put(t, filepath.Join(info, "RECORD"), "own.py,sha256=first,4\nown-1.0.dist-info/RECORD,,\n")
			origin := test.origin
			if name != "from a repository" {
				origin = fmt.Sprintf(origin, filepath.Join(filepath.Dir(source), "a%20b"))
			}
			put(t, filepath.Join(info, "direct_url.json"), origin)

			digest := func() string {
				e, err := python.Find(t.Context(), python.Options{Named: interpreter, CacheDir: cache})
				if err != nil {
					t.Fatal(err)
				}
				return e.Digest
			}
			before := digest()
			if again := digest(); again != before {
				t.Errorf("nothing changed, and the digest is %s, was %s", again, before)
			}
			test.change(t, source, site, info)
			if digest() == before {
				t.Error("other code, the same digest")
			}
		})
	}
}

// bareEnvironment has an interpreter, TensorFlow's name, and nothing else.
func bareEnvironment(t *testing.T, dir string) (interpreter, site string) {
	t.Helper()
	base := tftest.Python3(t)
	if out, err := exec.Command(base, "-I", "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	sites, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages"))
	if err != nil || len(sites) != 1 {
		t.Fatal(sites, err)
	}
	put(t, filepath.Join(sites[0], "tensorflow.py"), "")
	put(t, filepath.Join(sites[0], "tensorflow-2.21.0.dist-info", "METADATA"), "Metadata-Version: 2.1\nName: tensorflow\nVersion: 2.21.0\n")
	return filepath.Join(dir, "bin", "python"), sites[0]
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Packages may be installed while an interpreter is asked what it has: then its answer is
// incomplete.
func TestWhatChangesWhileItIsAskedIsAskedAgain(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), t.TempDir()
	path := whole().write(t, dir)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	program(t, path, string(text)+fmt.Sprintf("cd %s; grep -q :.2[.]4[.]7 bin/python && exit; sleep 0.1; ", dir)+
		"sed s/2[.]4[.]6/2.4.7/ bin/python > new; chmod +x new; mv new bin/python; touch site-packages")

	first, err := python.Find(t.Context(), python.Options{Named: path, CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	second, err := python.Find(t.Context(), python.Options{Named: path, CacheDir: cache})
	if err != nil || second.Packages["numpy"] != "2.4.7" || started(t, dir) != 2 {
		t.Errorf("remembered %v, %v, after %v: want what is there since", second.Packages, err, first.Packages)
	}
}
