package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// entry is a file of an archive.
type entry struct {
	*tar.Header
	content []byte
}

// unpack reads an archive: its files by their names below the one folder that all are in.
func unpack(archive string) (map[string]entry, error) {
	in, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	folder, files := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")+"/", map[string]entry{}
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name, ok := strings.CutPrefix(header.Name, folder)
		if !ok {
			return nil, fmt.Errorf("%s is outside of %s", header.Name, folder)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		files[name] = entry{header, content}
	}
}

// verifyFiles checks an archive's files: all are present, with the time of the commit, and without
// the name of a user.
func verifyFiles(files map[string]entry, committed time.Time) error {
	for _, name := range []string{
		"stoker", "LICENSE", "NOTICE", "THIRD_PARTY.txt", "README.md", "CHANGELOG.md", "man/stoker.1", "man/stoker-runs-show.1",
		"completions/stoker.bash", "completions/stoker.zsh", "completions/stoker.fish", "completions/stoker.powershell",
	} {
		if len(files[name].content) == 0 {
			return fmt.Errorf("no %s, or nothing in it", name)
		}
	}
	for name, file := range files {
		mode := int64(0o644)
		if name == "stoker" {
			mode = 0o755
		}
		if file.Mode != mode || file.Uname != "root" || file.Uid != 0 || !file.ModTime.Equal(committed) {
			return fmt.Errorf("%s is %o of %s (%d), of %s, want %o of root, of %s", name, file.Mode, file.Uname, file.Uid, file.ModTime, mode, committed)
		}
	}
	return nil
}

// verifySums checks that SHA256SUMS has the digest of each file that is published, and no other.
func verifySums(dist string) error {
	text, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		return err
	}
	named := 0
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			return fmt.Errorf("%s is %s, want %s", name, got, sum)
		}
		named++
	}
	published, err := filepath.Glob(filepath.Join(dist, "stoker_*.tar.gz*"))
	if err != nil {
		return err
	}
	if len(published) != named || named == 0 {
		return fmt.Errorf("%d files, and sums for %d", len(published), named)
	}
	return nil
}

// verifySBOM compares a document with the output of `go version -m` for the program and with the
// files of the archive.
func verifySBOM(document []byte, goVersion string, files map[string]entry, version string) error {
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(document), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		return err
	}
	if c := bom.Metadata.Component; c.Name != "stoker" || c.Version != version {
		return fmt.Errorf("it is of %s %s, want stoker %s", c.Name, c.Version, version)
	}
	var named []string
	for _, c := range *bom.Components {
		if c.Type == cdx.ComponentTypeLibrary && (c.Licenses == nil || len(*c.Licenses) != 1 || (*c.Licenses)[0].Expression == "") {
			return fmt.Errorf("%s %s has no license", c.Name, c.Version)
		}
		switch c.Type {
		case cdx.ComponentTypeLibrary:
			named = append(named, c.Name+" "+c.Version)
		case cdx.ComponentTypeFile:
			named = append(named, "file "+(*c.Hashes)[0].Value)
		}
	}
	first, _, _ := strings.Cut(goVersion, "\n")
	want := []string{"std " + strings.TrimPrefix(first[strings.LastIndex(first, " ")+1:], "go")}
	for line := range strings.Lines(goVersion) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "dep" {
			want = append(want, words[1]+" "+words[2])
		}
	}
	for _, file := range files {
		want = append(want, fmt.Sprintf("file %x", sha256.Sum256(file.content)))
	}
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		return fmt.Errorf("it names %d things, want %d: %v", len(named), len(want), difference(named, want))
	}
	return nil
}

// difference returns what is in only one of two lists.
func difference(a, b []string) (alone []string) {
	for _, list := range [][2][]string{{a, b}, {b, a}} {
		for _, item := range list[0] {
			if !slices.Contains(list[1], item) {
				alone = append(alone, item)
			}
		}
	}
	return alone
}

// verifyVersion checks the output of `stoker version -o json`.
func verifyVersion(said []byte, version, commit, os, arch string) error {
	var got struct{ Version, Commit, OS, Arch string }
	if err := json.Unmarshal(said, &got); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	if got.Version != version || got.Commit != commit || got.OS != os || got.Arch != arch {
		return fmt.Errorf("it says %+v, want %s of %s for %s/%s", got, version, commit, os, arch)
	}
	return nil
}
