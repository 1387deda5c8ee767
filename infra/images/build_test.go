package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// stoker is the real program, static, built once. STOKER_BINARY names one that is built already.
var stoker = sync.OnceValues(func() (string, error) {
	if binary := os.Getenv("STOKER_BINARY"); binary != "" {
		return binary, nil
	}
	dir, err := os.MkdirTemp("", "stoker-image-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "stoker")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", binary, "./functions/stoker")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if binary, err := stoker(); err == nil && binary != os.Getenv("STOKER_BINARY") {
		_ = os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(status)
}

// image writes the image, and reads it again as a runtime does.
func image(t *testing.T) v1.Image {
	t.Helper()
	binary, err := stoker()
	must(t, err)
	dir := filepath.Join(t.TempDir(), "image")
	digest, err := write(Options{Binary: binary}, "v1.2.3", dir)
	must(t, err)
	index, err := layout.ImageIndexFromPath(dir)
	must(t, err)
	must(t, validate.Index(index))
	made, err := index.Image(digest)
	must(t, err)
	return made
}

func TestTheImageIsWhatTheContainerfileSays(t *testing.T) {
	made := image(t)
	must(t, validate.Image(made))
	file, err := made.ConfigFile()
	must(t, err)
	c := file.Config
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/usr/bin/stoker"}) || c.WorkingDir != "/tmp" {
		t.Errorf("user %q, entry point %q, folder %q", c.User, c.Entrypoint, c.WorkingDir)
	}
	if got := c.Labels["org.opencontainers.image.version"]; got != "v1.2.3" {
		t.Errorf("version %q", got)
	}
	var files []string
	var size int64
	content := mutate.Extract(made)
	defer content.Close()
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		size += header.Size
		files = append(files, header.Name)
		if header.Uid != 0 || header.FileInfo().Mode().Perm()&0o022 != 0 && header.Name != "tmp" {
			t.Errorf("%s is %s of user %d: the program could change it", header.Name, header.FileInfo().Mode(), header.Uid)
		}
	}
	slices.Sort(files)
	want := []string{
		"etc", "etc/group", "etc/nsswitch.conf", "etc/passwd", "etc/ssl", "etc/ssl/certs", "etc/ssl/certs/ca-certificates.crt",
		"tmp", "usr", "usr/bin", "usr/bin/stoker",
		"usr/share", "usr/share/doc", "usr/share/doc/stoker", "usr/share/doc/stoker/LICENSE", "usr/share/doc/stoker/NOTICE",
		"usr/share/doc/stoker/third_party.txt",
	}
	if !slices.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
	compressed := int64(0)
	layers, err := made.Layers()
	must(t, err)
	for _, layer := range layers {
		n, err := layer.Size()
		must(t, err)
		compressed += n
	}
	t.Logf("%d MB, to fetch %d MB", size>>20, compressed>>20)
}

func TestTheSameBinaryGivesTheSameImage(t *testing.T) {
	first, err := image(t).Digest()
	must(t, err)
	second, err := image(t).Digest()
	must(t, err)
	if first != second {
		t.Errorf("%s, then %s", first, second)
	}
}

// Every target runs as a user other than root, without a shell, and has a base that is pinned to a
// distribution.
func TestTargetsAreFitToBeShipped(t *testing.T) {
	t.Parallel()
	bases := map[string]string{"stoker": "static-debian12", "python": "python3-debian12", "estimator": "python3-debian12", "cuda": "python3-debian12"}
	for name, base := range bases {
		target, err := ReadTarget("Containerfile", name, "v1")
		must(t, err)
		if want := "gcr.io/distroless/" + base + ":nonroot"; strings.Split(target.Base, "@")[0] != want {
			t.Errorf("%s stands on %s, want %s", name, target.Base, want)
		}
		if target.Config.User != "65532:65532" || !slices.Equal(target.Config.Entrypoint, []string{"/usr/bin/stoker"}) {
			t.Errorf("%s: user %q, entry point %q", name, target.Config.User, target.Config.Entrypoint)
		}
		if len(target.Runs) > 0 || len(target.Copies[""]) > 0 {
			t.Errorf("%s runs %v and copies %v: that is for other stages", name, target.Runs, target.Copies[""])
		}
		for _, legal := range []string{"/src/LICENSE", "/src/NOTICE", "/src/functions/stoker/third_party.txt"} {
			if !slices.Contains(target.Copies["build"], legal) {
				t.Errorf("%s does not hold %s", name, legal)
			}
		}
		for _, label := range []string{"title", "description", "source", "licenses", "version"} {
			if target.Config.Labels["org.opencontainers.image."+label] == "" {
				t.Errorf("%s has no label %s", name, label)
			}
		}
		for _, place := range []string{"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"} {
			if !slices.ContainsFunc(target.Config.Env, func(env string) bool { return strings.HasPrefix(env, place+"=/tmp") }) {
				t.Errorf("%s: %s is not where it can be written", name, place)
			}
		}
	}
}

// Stages copy from stages that exist, and are built with the Go version of go.mod.
func TestStagesAndGoAreThoseThereAre(t *testing.T) {
	t.Parallel()
	stages, err := readStages("Containerfile")
	must(t, err)
	known := map[string]bool{}
	for _, stage := range stages {
		target, err := readStage(stage, "v1")
		must(t, err)
		for from := range target.Copies {
			if from != "" && !known[from] {
				t.Errorf("%s copies from %s, which is no stage before it", stage.Name, from)
			}
		}
		known[stage.Name] = true
	}
	module, err := os.ReadFile("../../go.mod")
	must(t, err)
	text, err := os.ReadFile("Containerfile")
	must(t, err)
	_, version, _ := strings.Cut(string(module), "\ngo ")
	version, _, _ = strings.Cut(version, "\n")
	if !strings.Contains(string(text), "ARG GO="+version+"\n") {
		t.Errorf("go.mod says Go %s, and the Containerfile doesn't", version)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
