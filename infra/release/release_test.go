package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestGoreleaserKnowsTheConfiguration(t *testing.T) {
	program, err := goreleaser()
	must(t, err)
	must(t, in("../..", nil, program, "check", "infra/release/goreleaser.yaml"))
}

// Each archive holds the files of a release for its platform; checksums and SBOM describe exactly
// these.
func TestASnapshotIsWhatAReleaseIsToBe(t *testing.T) {
	s := ready(t)
	must(t, verifySums(s.dist))
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			files, err := unpack(s.archive(platform))
			must(t, err)
			must(t, verifyFiles(files, committed(t, s)))
			goos, goarch, _ := strings.Cut(platform, "_")
			must(t, verifyBinary(files["stoker"].content, goos, goarch))

			program := put(t, files["stoker"])
			modules, err := output(".", "go", "version", "-m", program)
			must(t, err)
			document, err := os.ReadFile(s.archive(platform) + ".cdx.json")
			must(t, err)
			must(t, verifySBOM(document, modules, files, s.version))
			if !strings.HasPrefix(string(files["CHANGELOG.md"].content), "# Stoker "+s.version+"\n\n## Added\n") {
				t.Errorf("changes begin %.60q", files["CHANGELOG.md"].content)
			}
		})
	}
}

func TestTheHostsBinaryRuns(t *testing.T) {
	s := ready(t)
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Fatalf("there is no release for %s", runtime.GOARCH)
	}
	files, err := unpack(s.archive(runtime.GOOS + "_" + runtime.GOARCH))
	must(t, err)
	said, err := exec.Command(put(t, files["stoker"]), "version", "-o", "json").Output()
	must(t, err)
	must(t, verifyVersion(said, s.version, s.commit, runtime.GOOS, runtime.GOARCH))
}

// The archive's binary runs without compiling or installing anything. The time is in the log (go
// test -v): a limit would fail on a busy machine.
func TestTheHostsBinaryStarts(t *testing.T) {
	s := ready(t)
	files, err := unpack(s.archive(runtime.GOOS + "_" + runtime.GOARCH))
	must(t, err)
	starts(t, put(t, files["stoker"]))
}

// starts runs `stoker version`, and `stoker up` until it reports that it is up, and logs how long
// each takes.
func starts(t *testing.T, program string) {
	t.Helper()
	begun := time.Now()
	must(t, exec.CommandContext(t.Context(), program, "version").Run())
	t.Logf("stoker version: %v", time.Since(begun).Round(time.Millisecond))

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	home := t.TempDir()
	up := exec.CommandContext(ctx, program, "up", "--data", filepath.Join(home, "data"), "--console-listen", "off")
	up.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	up.Cancel = func() error { return up.Process.Signal(os.Interrupt) }
	up.WaitDelay = time.Minute
	stderr, err := up.StderrPipe()
	must(t, err)
	begun = time.Now()
	must(t, up.Start())
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "stoker is up: ") {
		t.Errorf("stoker up says %q, %v", line, err)
	}
	t.Logf("stoker up until it is up, with an empty folder: %v", time.Since(begun).Round(time.Millisecond))
	cancel()
	_ = up.Wait()
}

// The binary of the other Linux architecture is run by an emulator: it starts, prints its version,
// and checks the machine.
func TestTheBinaryForARMRunsInAnEmulator(t *testing.T) {
	s := ready(t)
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		must(t, in(".", nil, "sh", "-c", "apt-get install -y --no-install-recommends qemu-user || { apt-get update && apt-get install -y --no-install-recommends qemu-user; }"))
		emulator = "qemu-aarch64"
	}
	files, err := unpack(s.archive("linux_arm64"))
	must(t, err)
	program := put(t, files["stoker"])
	said, err := exec.Command(emulator, program, "version", "-o", "json").Output()
	must(t, err)
	must(t, verifyVersion(said, s.version, s.commit, "linux", "arm64"))

	looked := exec.Command(emulator, program, "doctor", "--quick", "--limit", "20s")
	looked.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	out, _ := looked.Output() // no server is up, which is a failure
	for _, check := range []string{"bus", "store", "processor", "files"} {
		if !strings.Contains(string(out), check) {
			t.Errorf("doctor doesn't speak of %s:\n%s", check, out)
		}
	}
}

// A build of the same commit in another directory gives the same bytes, of everything that is
// published.
func TestTheSameCommitGivesTheSameBytes(t *testing.T) {
	s := ready(t)
	other, err := build(filepath.Join(t.TempDir(), "elsewhere"), []string{"TZ=Asia/Tokyo", "LC_ALL=C"})
	must(t, err)
	first, err := os.ReadFile(filepath.Join(s.dist, "SHA256SUMS"))
	must(t, err)
	second, err := os.ReadFile(filepath.Join(other.dist, "SHA256SUMS"))
	must(t, err)
	if string(first) != string(second) {
		t.Errorf("sums are\n%s, then\n%s", first, second)
	}
}

// So does a build without a cache; it is tested for this machine's platform.
func TestCompiledAnewTheBinaryIsTheSame(t *testing.T) {
	s := ready(t)
	program, err := goreleaser()
	must(t, err)
	dir, binary := filepath.Join(t.TempDir(), "anew"), filepath.Join(t.TempDir(), "stoker")
	must(t, in(".", nil, "git", "clone", "--quiet", "--no-hardlinks", "../..", dir))
	must(t, in(dir, []string{"GOCACHE=" + t.TempDir()}, program, "build", "--snapshot", "--single-target", "--skip=before", "--output", binary, "-f", "infra/release/goreleaser.yaml"))
	files, err := unpack(s.archive(runtime.GOOS + "_" + runtime.GOARCH))
	must(t, err)
	again, err := os.ReadFile(binary)
	must(t, err)
	if string(again) != string(files["stoker"].content) {
		t.Error("the binary is not the same when it is compiled again")
	}
}

func ready(t *testing.T) snapshot {
	t.Helper()
	s, err := made()
	must(t, err)
	return s
}

// committed returns the time of the commit.
func committed(t *testing.T, s snapshot) time.Time {
	t.Helper()
	said, err := output(s.dir, "git", "show", "-s", "--format=%ct")
	must(t, err)
	seconds, err := strconv.ParseInt(said, 10, 64)
	must(t, err)
	return time.Unix(seconds, 0)
}

// put writes a file of an archive where it can be run.
func put(t *testing.T, file entry) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stoker")
	must(t, os.WriteFile(path, file.content, 0o755))
	return path
}
