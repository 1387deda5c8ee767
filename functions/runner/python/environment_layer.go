package python

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// InCache returns the directory of the environments with requirements that Find makes below a cache
// directory.
func InCache(cache string) string { return filepath.Join(cache, "environments") }

// withRequirements installs a pipeline's requirements over an environment, once for each set: a
// venv that also sees the packages of the base, none of which changes.
func withRequirements(ctx context.Context, opts Options, over Environment) (Environment, error) {
	if opts.CacheDir == "" {
		return Environment{}, errors.New("module.requirements: there is no cache folder to install them in")
	}
	requirements, digest, err := parseRequirements(opts.Requirements)
	if err != nil {
		return Environment{}, fmt.Errorf("module.requirements: %w", err)
	}
	place := digestOf([]byte(over.Digest), []byte(over.Interpreter), []byte(digest))
	dir := filepath.Join(InCache(opts.CacheDir), place[:16])
	made, err := ensure(ctx, dir, false, io.Discard, func() (Made, error) {
		opts.Logger.Info("installing requirements", "requirements", opts.Requirements, "over", over.Interpreter)
		made := Made{Base: over.Interpreter, Requirements: opts.Requirements, Python: over.Version}
		return made, lay(ctx, opts.By, dir, over, requirements)
	})
	if err != nil {
		return Environment{}, fmt.Errorf("module.requirements: %w", err)
	}
	used(made.Interpreter)
	return known(ctx, opts.By, opts.CacheDir, made.Interpreter)
}

// parseRequirements returns the requirements in the order of their text, because the order in which
// they are written doesn't matter. The digest is that of everything that determines the
// environment, including wheels on this machine.
func parseRequirements(texts []string) ([]module.Requirement, string, error) {
	var parsed []module.Requirement
	var sums [][]byte
	for _, text := range slices.Sorted(slices.Values(texts)) {
		r, err := module.ParseRequirement(text)
		if err != nil {
			return nil, "", err
		}
		parsed = append(parsed, r)
		sums = append(sums, []byte(r.Text))
		if r.Wheel == "" {
			continue
		}
		sum, err := fileSum(r.Wheel)
		if err != nil {
			return nil, "", fmt.Errorf("requirement %q: %w", r.Text, err)
		}
		sums = append(sums, sum)
	}
	return parsed, digestOf(sums...), nil
}

func fileSum(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return sum.Sum(nil), err
}

// lay makes the environment. pip sees the packages of the base, and is constrained to their
// versions: packages that a warm process has imported don't change.
func lay(ctx context.Context, by Runner, dir string, over Environment, requirements []module.Requirement) error {
	var options []string
	if _, ok := over.Packages["pip"]; ok {
		options = append(options, "--without-pip") // that of the base is visible
	}
	if err := venv(ctx, by, over.Interpreter, dir, options...); err != nil {
		return err
	}
	own, err := siteOf(ctx, by, interpreterIn(dir))
	if err != nil {
		return err
	}
	if err := errors.Join(see(own, over.sites), standIn(own, over)); err != nil {
		return err
	}
	constraints := filepath.Join(dir, "constraints.txt")
	if err := os.WriteFile(constraints, over.freeze(), 0o644); err != nil {
		return err
	}
	command := append(pipInstall(interpreterIn(dir)), "--only-binary", ":all:", "--constraint", constraints, "--")
	for _, r := range requirements {
		command = append(command, r.Text)
	}
	said, err := talk(ctx, by, io.Discard, command, Needs{Write: []string{dir}, Network: true})
	if err != nil && ctx.Err() == nil {
		return installFailure(over, requirements, said, err)
	}
	return err
}

// siteOf returns the directory in which a fresh venv installs packages.
func siteOf(ctx context.Context, by Runner, interpreter string) (string, error) {
	p, err := probe(ctx, by, interpreter)
	if err != nil {
		return "", err
	}
	if len(p.Sites) == 0 {
		return "", fmt.Errorf("no folder for packages in Python %s", interpreter)
	}
	return p.Sites[0], nil
}

// see makes a venv import from the directories of another environment too, after its own.
// site.addsitedir reads their .pth files as well.
func see(own string, sites []string) error {
	var lines strings.Builder
	for _, site := range sites {
		fmt.Fprintf(&lines, "import site; site.addsitedir(%s)\n", quoted(site))
	}
	return os.WriteFile(filepath.Join(own, "stoker-base.pth"), []byte(lines.String()), 0o644)
}

// quoted returns a path as a Python string literal.
func quoted(path string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(path) + "'"
}

// standIn makes pip believe that tensorflow is installed if tensorflow-cpu, its equivalent, is:
// otherwise the dependency of a requirement would install the other one, of half a gigabyte, over
// the files of the first.
func standIn(own string, over Environment) error {
	version, cpu := over.Packages["tensorflow-cpu"]
	if _, whole := over.Packages["tensorflow"]; whole || !cpu {
		return nil
	}
	info := filepath.Join(own, "tensorflow-"+version+".dist-info")
	if err := os.Mkdir(info, 0o755); err != nil {
		return err
	}
	metadata := "Metadata-Version: 2.1\nName: tensorflow\nVersion: " + version +
		"\nSummary: tensorflow-cpu, under the name that others ask for\n"
	return errors.Join(
		os.WriteFile(filepath.Join(info, "METADATA"), []byte(metadata), 0o644),
		os.WriteFile(filepath.Join(info, "INSTALLER"), []byte("stoker\n"), 0o644))
}

// freeze returns the environment's packages as constraints for pip. It leaves out a package from a
// file or an address, whose version does not identify it. setuptools is not constrained: from 82 on
// it lacks pkg_resources, which older packages import, and no package that is imported in advance
// needs it.
func (e Environment) freeze() []byte {
	var lines []string
	for name, version := range e.Packages {
		if !strings.Contains(version, " @ ") && name != "setuptools" {
			lines = append(lines, name+"=="+version+"\n")
		}
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

// base is a Python that environments are made with: a venv is a directory of links to it.
type base struct {
	Interpreter string `json:"interpreter"`
	Version     string `json:"version"`
	Minor       int    `json:"minor"` // x of 3.x; 0 for any other version
	Prefix      string `json:"prefix"`
	System      string `json:"system"`
}

const baseScript = `import sys, platform, json
print(json.dumps({"interpreter": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3], "prefix": sys.base_prefix,
  "minor": sys.version_info[1] if sys.version_info[0] == 3 else 0, "system": platform.system() + " " + platform.machine()}))`

// findBase returns the Python that is named, or else the first one on PATH for which all packages
// have wheels.
func findBase(ctx context.Context, named string, minors []int) (base, error) {
	if named != "" {
		b, err := describe(ctx, named)
		if err == nil && !slices.Contains(minors, b.Minor) {
			err = fmt.Errorf("%s is Python %s, but wheels exist only for %s", named, b.Version, versions(minors))
		}
		return b, err
	}
	names := []string{"python3"}
	for _, minor := range minors {
		names = append(names, fmt.Sprintf("python3.%d", minor))
	}
	var found []string
	for _, name := range names {
		b, err := describe(ctx, name)
		switch {
		case ctx.Err() != nil:
			return base{}, context.Cause(ctx)
		case err != nil: // missing, or only a stub, as with pyenv
		case slices.Contains(minors, b.Minor):
			return b, nil
		default:
			found = append(found, name+" is "+b.Version)
		}
	}
	if len(found) == 0 {
		found = append(found, "there is no python3 on PATH")
	}
	return base{}, fmt.Errorf("wheels exist for %s, but %s: install one of these, and name it with --python",
		versions(minors), strings.Join(found, ", "))
}

func describe(ctx context.Context, named string) (base, error) {
	path, err := locate(named)
	if err != nil {
		return base{}, err
	}
	var b base
	if err := ask(ctx, nil, &b, path, "-I", "-c", baseScript); err != nil {
		return base{}, fmt.Errorf("ask Python %s for its version: %w", path, err)
	}
	return b, nil
}

// versions lists versions for users: Python 3.11, 3.12 and 3.13.
func versions(minors []int) string {
	var names []string
	for _, minor := range minors {
		names = append(names, fmt.Sprintf("3.%d", minor))
	}
	last := len(names) - 1
	if last == 0 {
		return "Python " + names[0]
	}
	return "Python " + strings.Join(names[:last], ", ") + " and " + names[last]
}
