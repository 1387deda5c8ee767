package main

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Bases are pinned to the images of their tags in the registry, and again when the tags refer to
// other images.
func TestPinNamesTheDigestsOfTheRegistry(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	push := func(image string) string {
		t.Helper()
		made, err := random.Index(64, 1, 2)
		must(t, err)
		reference, err := name.ParseReference(host + "/" + image)
		must(t, err)
		must(t, remote.WriteIndex(reference, made))
		digest, err := made.Digest()
		must(t, err)
		return digest.String()
	}
	text := fmt.Sprintf("ARG GO=1.2\nFROM %[1]s/golang:${GO}-x AS build\nRUN true\nFROM build AS more\nFROM %[1]s/static:nonroot AS stoker\nFROM %[1]s/static:nonroot AS other\n", host)
	if got := Unpinned(text); len(got) != 2 {
		t.Errorf("unpinned are %q, want two", got)
	}
	for range 2 {
		golang, static := push("golang:1.2-x"), push("static:nonroot")
		pinned, err := Pin(text)
		must(t, err)
		want := fmt.Sprintf("ARG GO=1.2\nFROM %[1]s/golang:${GO}-x@%[2]s AS build\nRUN true\nFROM build AS more\nFROM %[1]s/static:nonroot@%[3]s AS stoker\nFROM %[1]s/static:nonroot@%[3]s AS other\n", host, golang, static)
		if pinned != want {
			t.Errorf("pinned is\n%s\nwant\n%s", pinned, want)
		}
		if got := Unpinned(pinned); len(got) > 0 {
			t.Errorf("unpinned are %q, want none", got)
		}
		text = pinned
	}
	if _, err := Pin("FROM " + host + "/nowhere:1\n"); err == nil || !strings.Contains(err.Error(), "look up "+host+"/nowhere:1") {
		t.Errorf("an image that is nowhere: %v", err)
	}
}

// Every FROM of the real file is one that Pin knows how to pin, and a file with a base that is not
// pinned is not fit for a release.
func TestImagesOfUnpinnedBasesAreRefused(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Containerfile")
	must(t, err)
	stages, err := readStages("Containerfile")
	must(t, err)
	if got := from.FindAllString(string(text), -1); len(got) != len(stages) {
		t.Errorf("%d of %d stages can be pinned: %q", len(got), len(stages), got)
	}
	must(t, checkFile("Containerfile"))
	file := filepath.Join(t.TempDir(), "Containerfile")
	digest := "@sha256:" + strings.Repeat("a", 64)
	must(t, os.WriteFile(file, []byte("FROM gcr.io/a:1"+digest+" AS a\nFROM a\nFROM gcr.io/b:1\n"), 0o644))
	if err := checkFile(file); err == nil || !strings.Contains(err.Error(), "no digest of gcr.io/b:1: run") {
		t.Errorf("error %v", err)
	}
	must(t, os.WriteFile(file, []byte("FROM gcr.io/a:1"+digest+" AS a\nFROM a\n"), 0o644))
	must(t, checkFile(file))
}
