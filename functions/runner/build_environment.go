package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// goEnvironment is the environment of the go command. It has no settings but those of the worker's own environment that are named here,
// no flags, no other toolchain than the one that is installed, and none of the worker's credentials for bus and store.
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

// goEnvironment is that of the go command for this host. Where modules have users of their own, the caches are not those of the worker's user.
func (h *Runner) goEnvironment(home string) []string {
	environ := os.Environ()
	if cache, err := h.cacheDir(); err == nil && h.users.on() {
		environ = slices.DeleteFunc(environ, func(pair string) bool {
			name, _, _ := strings.Cut(pair, "=")
			return name == "GOCACHE" || name == "GOPATH"
		})
		environ = append(environ, "GOCACHE="+filepath.Join(cache, "go", "cache"), "GOPATH="+filepath.Join(cache, "go", "path"))
	}
	return goEnvironment(environ, home)
}

// cgoEnv is the environment's word for whether modules in Go may be built with C where nothing keeps the compilers from files of the worker.
const cgoEnv = "STOKER_MODULE_CGO"

// cgo is CGO_ENABLED where a build can't be kept from files of the worker: a source in C can have any of them built into the program.
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

// goNames are the variables that a build may depend on: where the toolchain, the caches and the sources of modules are, and how C is
// compiled.
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

// goFolders are where the go command keeps things, for the worker's user, where no variable says otherwise. Built packages and fetched
// modules are kept between builds.
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
