package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// lockPeriod is how often a builder checks whether another one has finished.
const lockPeriod = 50 * time.Millisecond

// program is what a process of a module executes.
type program struct {
	line   []string
	digest string          // the module's, as Runner.Digest returns it; "": it can't have changed
	sealed *os.File        // a copy to execute instead of line[0]; nil: none
	access *process.Access // to files; nil: that of this process
	ours   bool            // the program is Stoker's own
}

// close closes the copy. A process that runs it continues.
func (p program) close() {
	if p.sealed != nil {
		_ = p.sealed.Close() // it was only read from
	}
}

// program returns what is executed for a binary or a source directory. The caller closes it. It is
// executed as it was when it was digested or built, because others may replace the file, including
// modules of the same user. A script does not find files next to it by its path: no digest covers
// them.
func (r *Runner) program(ctx context.Context, code code) (program, error) {
	if code.kind == goSource {
		return r.build(ctx, code.path)
	}
	sealed, sum, err := r.sealed.open(code.path)
	if err != nil {
		return program{}, fail(KindHost, fmt.Errorf("digest of module: %w", err))
	}
	return program{line: []string{code.path}, digest: digestText(sum[:]), sealed: sealed}, nil
}

// builtPrograms are the checksums of the programs that this process has built, by their paths. Any
// other program in a cache may have been written by somebody else, and is built again.
var builtPrograms = struct {
	sync.Mutex

	sums map[string][sha256.Size]byte
}{sums: map[string][sha256.Size]byte{}}

// errOtherProgram reports a program that this process has not built.
var errOtherProgram = errors.New("the file differs from the program that was built")

// openBuilt returns a copy of a program that this process has built.
func (r *Runner) openBuilt(path string) (*os.File, error) {
	builtPrograms.Lock()
	want, ok := builtPrograms.sums[path]
	builtPrograms.Unlock()
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, errOtherProgram)
	}
	sealed, sum, err := r.sealed.open(path)
	if err != nil {
		return nil, err
	}
	if sum != want {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, errOtherProgram), sealed.Close())
	}
	return sealed, nil
}

// build builds the program of a source directory, once for each digest of its sources. Of several
// builders in this process one builds and the others wait; other processes build for themselves.
func (r *Runner) build(ctx context.Context, folder string) (program, error) {
	packages, err := r.listPackages(ctx, folder)
	if err != nil {
		return program{}, err
	}
	digest, err := r.packagesDigest(ctx, folder, packages)
	if err != nil {
		return program{}, err
	}
	cache, err := r.cacheDir()
	if err != nil {
		return program{}, err
	}
	target := filepath.Join(cache, strings.TrimPrefix(digest, "sha256:"), "module")
	built := program{line: []string{target}, digest: digest}
	if built.sealed, err = r.openBuilt(target); err == nil {
		return built, nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return program{}, fail(KindHost, fmt.Errorf("create a folder for a built module: %w", err))
	}
	lock := flock.New(target + ".lock")
	if _, err := lock.TryLockContext(ctx, lockPeriod); err != nil {
		return program{}, fail(hostFault(ctx), fmt.Errorf("wait for another build of %s: %w", folder, err))
	}
	defer lock.Unlock()
	if built.sealed, err = r.openBuilt(target); err == nil {
		return built, nil
	}
	r.opts.Logger.InfoContext(ctx, "building module", "module", folder, "digest", digest)
	if err := verifyModules(packages); err != nil {
		return program{}, fail(KindHost, fmt.Errorf("build module %s: %w", folder, err))
	}
	built.sealed, err = r.goBuild(ctx, folder, target)
	return built, err
}

// hostFault is the kind of an error that is not the module's: ctx has ended, or this machine has
// failed.
func hostFault(ctx context.Context) Kind {
	if ctx.Err() != nil {
		return KindStopped
	}
	return KindHost
}

// goBuild writes the program next to target, makes the copy that is executed, and moves the program
// to target.
//
// C compilers read any file that sources name (#include, .incbin), and the program would then
// contain it: the build can read no more than the module itself. Nothing is fetched by then.
func (r *Runner) goBuild(ctx context.Context, folder, target string) (sealed *os.File, err error) {
	partial := target + ".partial"
	if _, err := r.goCommand(ctx, folder, filepath.Dir(target), "build", "-trimpath", "-buildvcs=false", "-o", partial, "."); err != nil {
		return nil, err
	}
	sum := sha256.New()
	if sealed, err = process.Seal(partial, sum); err != nil {
		return nil, fail(KindHost, fmt.Errorf("read the built module: %w", err))
	}
	if err := os.Rename(partial, target); err != nil {
		return nil, errors.Join(fail(KindHost, fmt.Errorf("save the built module: %w", err)), sealed.Close())
	}
	builtPrograms.Lock()
	defer builtPrograms.Unlock()
	builtPrograms.sums[target] = [sha256.Size]byte(sum.Sum(nil))
	return sealed, nil
}

// goCommand runs the go tool in a module's directory and returns what it printed. Its home is
// empty, because settings and Git's configuration in a home can be written by modules of the same
// user. The tool reads no more than a module, and writes in its caches and in the directory target,
// if that is not "". If modules have users of their own, all go commands have one of those, to whom
// the caches belong.
func (r *Runner) goCommand(ctx context.Context, folder, target string, args ...string) (out []byte, err error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return nil, fail(KindModule, fmt.Errorf("module %s is Go source, and there is no go command to build it: "+
			"install Go, or name a built program", folder))
	}
	home, err := os.MkdirTemp("", "stoker-go-")
	if err != nil {
		return nil, fail(KindHost, fmt.Errorf("create a home for the go command: %w", err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	if err := withoutTelemetry(home); err != nil {
		return nil, fail(KindHost, fmt.Errorf("create a home for the go command: %w", err))
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = folder
	var printed, said bytes.Buffer
	cmd.Env = r.goEnvironment(home)
	access, err := r.access.ofBuild(target, cmd.Env)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = &printed, &said
	cmd.WaitDelay = time.Second // for the compilers that a killed go command leaves behind
	err = r.users.ids.Keeper(func(user *process.User) error {
		if err := r.users.handBuild(user, folder, target, cmd.Env); err != nil {
			return err
		}
		return errors.Join(process.Run(cmd, home, process.Bounds{Access: access, User: user}), r.users.reclaim(user, target))
	})
	switch exit := (*exec.ExitError)(nil); {
	case err == nil:
		return printed.Bytes(), nil
	case ctx.Err() != nil:
		return nil, fail(KindStopped, fmt.Errorf("go %s in %s: %w", args[0], folder, context.Cause(ctx)))
	case errors.As(err, &exit):
		return nil, fail(KindModule, fmt.Errorf("go %s in %s: %w: %s", args[0], folder, err, bytes.TrimSpace(said.Bytes())))
	default:
		return nil, fail(KindHost, fmt.Errorf("go %s in %s: %w", args[0], folder, err))
	}
}

// withoutTelemetry turns off the go command's telemetry in a home: it would start a process that
// writes there after the command has ended.
func withoutTelemetry(home string) error {
	config := filepath.Join(home, ".config")
	if runtime.GOOS == "darwin" {
		config = filepath.Join(home, "Library", "Application Support")
	}
	dir := filepath.Join(config, "go", "telemetry")
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "mode"), []byte("off\n"), 0o600))
}

func (r *Runner) cacheDir() (string, error) {
	if r.opts.CacheDir != "" {
		return r.opts.CacheDir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fail(KindHost, fmt.Errorf("find a folder for built modules: %w", err))
	}
	return filepath.Join(dir, "stoker", "modules"), nil
}

// verifyModules compares the modules that packages come from with their sums in go.sum. The go
// command does so when it fetches a module, but not when it builds from one that it has fetched and
// that others may have changed since.
func verifyModules(packages []goPackage) error {
	seen := map[goModule]bool{}
	for _, p := range packages {
		m := p.Module.actual()
		if m.Sum == "" || m.Dir == "" || seen[m] {
			continue
		}
		seen[m] = true
		sum, err := moduleSum(m)
		if err != nil {
			return fmt.Errorf("verify module %s@%s: %w", m.Path, m.Version, err)
		}
		if sum != m.Sum {
			return fmt.Errorf("module %s@%s in %s was changed since it was fetched: its sum is %s, expected %s: go clean -modcache removes it",
				m.Path, m.Version, m.Dir, sum, m.Sum)
		}
	}
	return nil
}

// moduleSum returns the sum of a module's files as go.sum has it: "Hash1" of
// golang.org/x/mod/sumdb/dirhash.
func moduleSum(m goModule) (string, error) {
	sums := map[string][]byte{}
	err := filepath.WalkDir(m.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(m.Dir, path)
		if err != nil {
			return err
		}
		sum := sha256.New()
		if err := addFile(sum, path); err != nil {
			return err
		}
		sums[m.Path+"@"+m.Version+"/"+filepath.ToSlash(name)] = sum.Sum(nil)
		return nil
	})
	if err != nil {
		return "", err
	}
	return hash1(sums), nil
}

// hash1 returns the sum of a list of files, as sha256sum prints it, in the order of their names.
func hash1(sums map[string][]byte) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(all, "%x  %s\n", sums[name], name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(all.Sum(nil))
}

// goEnvironment returns the environment of the go command. It has only the variables of the
// worker's environment that are named here, no flags, no other toolchain than the installed one,
// and no credentials for bus and store.
func goEnvironment(environ []string, home string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !slices.Contains(goNames(), name)
	})
	for name, folder := range goFolders() {
		if !slices.ContainsFunc(kept, func(pair string) bool { return strings.HasPrefix(pair, name+"=") && pair != name+"=" }) {
			kept = append(kept, name+"="+folder)
		}
	}
	if process.CanSandbox() != nil || os.Getenv(process.SandboxEnv) == "off" {
		kept = append(kept, "CGO_ENABLED="+cgo(environ))
	}
	return append(kept, "HOME="+home, "TMPDIR="+home, "GOTMPDIR="+home, "GOENV=off", "GOFLAGS=", "GOTOOLCHAIN=local", "GOTELEMETRY=off")
}

// goEnvironment returns the environment of the go command for this runner. If modules have users of
// their own, the caches are not those of the worker's user.
func (r *Runner) goEnvironment(home string) []string {
	environ := os.Environ()
	if cache, err := r.cacheDir(); err == nil && r.users.on() {
		environ = slices.DeleteFunc(environ, func(pair string) bool {
			name, _, _ := strings.Cut(pair, "=")
			return name == "GOCACHE" || name == "GOPATH"
		})
		environ = append(environ, "GOCACHE="+filepath.Join(cache, "go", "cache"), "GOPATH="+filepath.Join(cache, "go", "path"))
	}
	return goEnvironment(environ, home)
}

// cgoEnv names the environment variable that allows modules in Go to be built with C where the
// compilers can't be kept from the worker's files.
const cgoEnv = "STOKER_MODULE_CGO"

// cgo returns CGO_ENABLED for a machine where a build can't be kept from the worker's files: C
// sources can have any of them built into the program.
func cgo(environ []string) string {
	if !slices.Contains(environ, cgoEnv+"=1") {
		return "0"
	}
	for _, pair := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(pair, "CGO_ENABLED="); ok {
			return value
		}
	}
	return "1"
}

// goNames returns the variables that a build may depend on: where the toolchain, the caches and the
// sources of modules are, and how C is compiled.
func goNames() []string {
	return []string{
		"PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
		"GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "GOWORK", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOMAXPROCS", "GOMEMLIMIT", "GOGC",
		"GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOINSECURE", "GOVCS", "GOAUTH", "NETRC",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"CGO_ENABLED", "CC", "CXX", "AR", "FC", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS", "PKG_CONFIG", "PKG_CONFIG_PATH",
		"CPATH", "LIBRARY_PATH",
	}
}

// goFolders returns the default directories of the go command for the worker's user. Built packages
// and fetched modules are kept between builds.
func goFolders() map[string]string {
	folders := map[string]string{}
	if home, err := os.UserHomeDir(); err == nil {
		folders["GOPATH"] = filepath.Join(home, "go")
	}
	if cache, err := os.UserCacheDir(); err == nil {
		folders["GOCACHE"] = filepath.Join(cache, "go-build")
	}
	return folders
}

// goPackage is what `go list -json` prints of one package.
type goPackage struct {
	ImportPath string
	Dir        string
	Name       string
	Standard   bool
	Module     *goModule

	GoFiles, CgoFiles, CFiles, CXXFiles, HFiles, SFiles, SysoFiles, EmbedFiles []string
}

type goModule struct {
	Path, Version, Sum, GoVersion, Dir string

	Replace *goModule
}

// settings are what the result of a build depends on, apart from its sources.
var settings = []string{"GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOFLAGS", "GOEXPERIMENT",
	"CGO_ENABLED", "CGO_CFLAGS", "CGO_LDFLAGS"}

// sourceDigest returns the SHA-256 of everything that a program is built from: compiler, settings,
// the files of its own packages, and the sums of the modules of all other packages.
func (r *Runner) sourceDigest(ctx context.Context, folder string) (string, error) {
	packages, err := r.listPackages(ctx, folder)
	if err != nil {
		return "", err
	}
	return r.packagesDigest(ctx, folder, packages)
}

// goQuery runs a go command that builds nothing, and that fetches what the sources import. The go
// command follows links and quotes what it does not understand, so it can read no more than the
// module itself.
func (r *Runner) goQuery(ctx context.Context, folder string, args ...string) ([]byte, error) {
	return r.goCommand(ctx, folder, "", args...)
}

func (r *Runner) packagesDigest(ctx context.Context, folder string, packages []goPackage) (string, error) {
	env, err := r.goQuery(ctx, folder, append([]string{"env"}, settings...)...)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "settings %q\n", env)
	for _, p := range packages {
		if err := p.addTo(sum); err != nil {
			return "", fail(KindHost, fmt.Errorf("digest of module %s: %w", folder, err))
		}
	}
	return digestText(sum.Sum(nil)), nil
}

// listPackages lists the program in a directory and all that it imports, the program last.
func (r *Runner) listPackages(ctx context.Context, folder string) ([]goPackage, error) {
	const fields = "-json=ImportPath,Dir,Name,Standard,Module,GoFiles,CgoFiles,CFiles,CXXFiles,HFiles,SFiles,SysoFiles,EmbedFiles"
	out, err := r.goQuery(ctx, folder, "list", "-deps", fields, ".")
	if err != nil {
		return nil, err
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fail(KindHost, fmt.Errorf("parse the output of go list for %s: %w", folder, err))
		}
		packages = append(packages, p)
	}
	if last := packages[len(packages)-1]; last.Name != "main" {
		return nil, fail(KindModule, fmt.Errorf("module %s is package %s, expected main: a program that calls module.Main",
			folder, last.Name))
	}
	return packages, nil
}

// addTo adds a package to sum: by its module's sum if there is one, else by its files. The standard
// library is covered by the compiler's version.
func (p goPackage) addTo(sum hash.Hash) error {
	if p.Standard {
		return nil
	}
	m := p.Module.actual()
	if m.Sum != "" {
		fmt.Fprintf(sum, "module %q %q %q\n", m.Path, m.Version, m.Sum)
		return nil
	}
	fmt.Fprintf(sum, "package %q in Go %q\n", p.ImportPath, m.GoVersion)
	files := slices.Concat(p.GoFiles, p.CgoFiles, p.CFiles, p.CXXFiles, p.HFiles, p.SFiles, p.SysoFiles, p.EmbedFiles)
	slices.Sort(files)
	for _, name := range files {
		content := sha256.New()
		if err := addFile(content, filepath.Join(p.Dir, name)); err != nil {
			return err
		}
		fmt.Fprintf(sum, "file %q %x\n", name, content.Sum(nil))
	}
	return nil
}

// actual is the module that is used; the zero value for a package without a module.
func (m *goModule) actual() goModule {
	switch {
	case m == nil:
		return goModule{}
	case m.Replace != nil:
		return *m.Replace
	default:
		return *m
	}
}
