package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// component is a piece of others' work in a program.
type component struct {
	name     string
	version  string
	source   string   // where to get the source code of this version
	licenses []string // SPDX identifiers, sorted
	texts    []text
}

// text is a file with a license or a notice.
type text struct {
	name    string // below the component's folder, with slashes
	content string
}

// program is a program of a release on one platform, as the go command builds it.
type program struct {
	pkg, tags string
	env       []string
}

// programs are all programs in archives and images.
var programs = []program{
	{pkg: "./functions/stoker", env: []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0"}},
	{pkg: "./functions/stoker", env: []string{"GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0"}},
	{pkg: "./functions/stoker", env: []string{"GOOS=darwin", "GOARCH=amd64", "CGO_ENABLED=0"}},
	{pkg: "./functions/stoker", env: []string{"GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0"}},
	{pkg: "./functions/stoker-cuda", tags: "stoker_cuda", env: []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=1"}},
}

// module is a Go module with the folders of it that are linked.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
	packages           []string // folders
}

// collect returns the components of all programs, by name. root is the folder of this repository.
func collect(root string) ([]component, error) {
	root, err := filepath.Abs(root) // as the go command names folders
	if err != nil {
		return nil, err
	}
	modules, goRoot, err := linked(root)
	if err != nil {
		return nil, err
	}
	var faults []error
	golang, err := standard(root, goRoot)
	components := []component{golang}
	faults = append(faults, err)
	for _, m := range modules {
		if m.Main {
			faults = append(faults, noCopies(root, m.packages))
			continue
		}
		c := component{name: m.Path, version: m.Version, source: "https://proxy.golang.org/" + escape(m.Path) + "/@v/" + escape(m.Version) + ".zip"}
		c.texts, err = moduleTexts(m)
		faults = append(faults, err, c.classify())
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b component) int { return cmp.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) })
	return components, errors.Join(faults...)
}

// linked asks the go command for the modules whose packages are in any program, and where Go's own
// files are.
func linked(root string) (modules []*module, goRoot string, err error) {
	known := map[string]*module{}
	for _, p := range programs {
		cmd := exec.Command("go", "list", "-deps", "-tags", p.tags, "-json=Dir,Standard,Module", p.pkg)
		cmd.Dir, cmd.Env = root, append(os.Environ(), p.env...)
		var failed bytes.Buffer
		cmd.Stderr = &failed
		out, err := cmd.Output()
		if err != nil {
			return nil, "", fmt.Errorf("list the packages of %s for %q: %w: %s", p.pkg, p.env, err, failed.Bytes())
		}
		for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
			var pkg struct {
				Dir      string
				Standard bool
				Module   *module
			}
			err := decoder.Decode(&pkg)
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, "", err
			}
			if pkg.Standard || pkg.Module == nil {
				continue
			}
			m := known[pkg.Module.Path]
			if m == nil {
				m = pkg.Module
				if m.Replace != nil {
					return nil, "", fmt.Errorf("%s is replaced: go install would not build the same program", m.Path)
				}
				known[m.Path], modules = m, append(modules, m)
			}
			if !slices.Contains(m.packages, pkg.Dir) {
				m.packages = append(m.packages, pkg.Dir)
			}
		}
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	return modules, strings.TrimSpace(string(out)), err
}

// standard returns Go, of the version in go.mod: its runtime and standard library.
func standard(root, goRoot string) (component, error) {
	c := component{name: "Go"}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return c, err
	}
	_, version, _ := strings.Cut(string(module), "\ngo ")
	c.version, _, _ = strings.Cut(version, "\n")
	c.source = "https://go.dev/dl/go" + c.version + ".src.tar.gz"
	if c.texts, err = folderTexts(goRoot, "."); err != nil {
		return c, err
	}
	return c, c.classify()
}

// legal are the names of files with licenses, notices and grants of patents.
var legal = regexp.MustCompile(`(?i)^(un)?(licen[cs]es?|copying|copyright|notice|patents)([._-].*)?$|[._-](licen[cs]e|notice)(\.\w+)?$`)

// code are endings of files that may be named as legal ones are.
var code = []string{".go", ".py", ".proto", ".json", ".yaml", ".yml", ".sh", ".tmpl"}

func isLegal(name string) bool {
	return legal.MatchString(name) && !slices.Contains(code, strings.ToLower(filepath.Ext(name)))
}

// moduleTexts returns the legal files of a module's top, and of the folders from there down to each
// linked package.
func moduleTexts(m *module) ([]text, error) {
	folders := map[string]bool{".": true}
	for _, dir := range m.packages {
		below, err := filepath.Rel(m.Dir, dir)
		if err != nil {
			return nil, err
		}
		for ; below != "."; below = filepath.Dir(below) {
			folders[below] = true
		}
	}
	var texts []text
	for folder := range folders {
		more, err := folderTexts(m.Dir, folder)
		if err != nil {
			return nil, err
		}
		texts = append(texts, more...)
	}
	slices.SortFunc(texts, func(a, b text) int {
		return cmp.Or(cmp.Compare(strings.Count(a.name, "/"), strings.Count(b.name, "/")), cmp.Compare(a.name, b.name))
	})
	return texts, nil
}

func folderTexts(root, folder string) ([]text, error) {
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		return nil, err
	}
	var texts []text
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !isLegal(entry.Name()) {
			continue
		}
		name := filepath.Join(folder, entry.Name())
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text{filepath.ToSlash(name), normal(string(content))})
	}
	return texts, nil
}

// noCopies returns an error for each legal file in the folders of our own linked packages: it would
// be that of a copy of others' work, which THIRD_PARTY.txt and SBOMs do not name.
func noCopies(root string, packages []string) error {
	known := map[string]bool{}
	var faults []error
	slices.SortFunc(packages, cmp.Compare)
	for _, dir := range packages {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return fs.SkipDir
			case entry.IsDir() || !isLegal(entry.Name()):
				return nil
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if !known[name] {
				faults = append(faults, fmt.Errorf("%s: a license of others; only modules are listed", name))
				known[name] = true
			}
			return nil
		})
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// normal returns a text with the line ends and the end of file that all have.
func normal(s string) string {
	return strings.Trim(strings.ReplaceAll(s, "\r\n", "\n"), "\n") + "\n"
}

// escape writes a path or version as Go's module proxy does: a capital is an exclamation mark and
// the small letter.
func escape(s string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(s, func(c string) string { return "!" + strings.ToLower(c) })
}
