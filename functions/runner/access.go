package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// Environment variables that set what modules may do with files.
const (
	hideEnv = "STOKER_MODULE_HIDE" // paths, separated as in PATH, that modules can't read
	// Paths, separated as in PATH, to which modules may write in addition to their own directories.
	writeEnv = "STOKER_MODULE_WRITE"
	// worker, the default: warm processes run the worker's own packages only; any: see
	// access.foreign
	warmEnv = "STOKER_MODULE_WARM"
)

// access is what the modules of a runner may do with files. The zero value gives them the worker's
// own access.
type access struct {
	on            bool
	hidden, write []string
	work          string // a folder with those of all assignments; "": not known
	// warm processes may run code of pipelines, and have threads that their sandbox does not
	// confine
	warmAny bool
}

// newAccess reads Options and the worker's environment.
func newAccess(opts Options) (access, error) { return accessWhere(opts, process.CanSandbox()) }

// accessWhere is newAccess on a machine that cannot sandbox processes, for the given reason; nil:
// it can.
func accessWhere(opts Options, cannot error) (access, error) {
	a := access{hidden: slices.Concat(credentialPaths(os.Environ()), opts.Hidden, filepath.SplitList(os.Getenv(hideEnv))),
		write: slices.Concat(opts.Writable, filepath.SplitList(os.Getenv(writeEnv)))}
	if opts.WorkDir != "" {
		work, err := filepath.Abs(opts.WorkDir)
		if err != nil {
			return access{}, fmt.Errorf("find the working directory of modules: %w", err)
		}
		a.work = work
	}
	for _, path := range slices.Concat(a.hidden, a.write) {
		if !filepath.IsAbs(path) {
			return access{}, fmt.Errorf("paths that modules may read and write: %q: expected an absolute path", path)
		}
	}
	switch warm := os.Getenv(warmEnv); warm {
	case "", "worker":
	case "any":
		a.warmAny = true
	default:
		return access{}, fmt.Errorf("%s is %q: expected worker or any", warmEnv, warm)
	}
	switch how := os.Getenv(process.SandboxEnv); how {
	case "", "auto":
		if a.on = cannot == nil; !a.on && opts.Logger != nil {
			opts.Logger.Warn("modules run without a sandbox and can access all files of the worker's user", "reason", cannot)
		}
	case "off":
	case "required":
		if a.on = cannot == nil; !a.on {
			return access{}, fmt.Errorf("%s=required: %w", process.SandboxEnv, cannot)
		}
	default:
		return access{}, fmt.Errorf("%s is %q: expected auto, required or off", process.SandboxEnv, how)
	}
	return a, nil
}

// credentialPaths returns where the programs of a worker's user keep credentials: the defaults, and
// what the environment names.
func credentialPaths(environ []string) (paths []string) {
	home := ""
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "HOME":
			home = value
		case "NATS_CREDS", "NATS_NKEY", "NATS_KEY", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
			"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "GOOGLE_APPLICATION_CREDENTIALS", "NETRC", "DOCKER_CONFIG", "STOKER_CONFIG":
			paths = append(paths, value)
		case "KUBECONFIG":
			paths = append(paths, filepath.SplitList(value)...)
		case "XDG_CONFIG_HOME":
			paths = append(paths, filepath.Join(value, "stoker"), filepath.Join(value, "nats"))
		}
	}
	if home != "" {
		for _, name := range []string{".aws", ".azure", ".docker", ".gnupg", ".kube", ".mc", ".netrc", ".ssh", ".git-credentials", ".pypirc",
			".config/gcloud", ".config/gh", ".config/nats", ".config/rclone", ".config/stoker"} {
			paths = append(paths, filepath.Join(home, filepath.FromSlash(name)))
		}
	}
	paths = append(paths, "/var/run/secrets")
	return slices.DeleteFunc(paths, func(path string) bool { return !filepath.IsAbs(path) })
}

// of returns the access of a process that works on an assignment; nil: the worker's. It makes the
// assignment's missing directories.
func (a access) of(assignment module.Assignment) (*process.Access, error) {
	if !a.on {
		return nil, nil
	}
	own := ownFolders(assignment)
	var errs []error
	for _, folder := range own {
		errs = append(errs, os.MkdirAll(folder, 0o755))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fail(KindHost, fmt.Errorf("module %s: create its folders: %w", assignment.Module, err))
	}
	return &process.Access{Hidden: a.hidden, Write: slices.Concat(own, a.write)}, nil
}

// ofWarm returns the access of a process that starts before its assignment is known, and enters a
// narrower sandbox with it; nil: the worker's. The process writes in its own home, in more, and in
// the directories of all assignments. It must therefore run only the worker's own packages, see
// foreign.
func (a access) ofWarm(more ...string) *process.Access {
	if !a.on || a.work == "" {
		return nil
	}
	return &process.Access{Hidden: a.hidden, Write: slices.Concat(more, []string{a.work}, a.write)}
}

// foreign returns an error if a TFX module must not run in a warm process. Until such a process has
// its job it may write in the directories of all jobs, and Python enters the job's sandbox by
// itself, after code of installed packages has run (.pth files): packages and interpreters that a
// pipeline chooses could write in the directories of other jobs, or never enter the sandbox.
// byDefault is the worker's interpreter.
func (a access) foreign(source module.Source, byDefault string) error {
	if !a.on || a.warmAny || len(source.Requirements) == 0 && (source.Python == "" || source.Python == byDefault) {
		return nil
	}
	return fmt.Errorf("%w for requirements and interpreters that pipelines name (%s=any allows it)", errCold, warmEnv)
}

// ofBuild returns the access of a go command with an environment that builds a program in the
// directory target, "" if it builds none; nil: the worker's. It makes missing caches.
func (a access) ofBuild(target string, environ []string) (*process.Access, error) {
	if !a.on {
		return nil, nil
	}
	write := []string{target}
	for _, pair := range environ {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "GOCACHE", "GOMODCACHE":
			write = append(write, value)
		case "GOPATH":
			for _, path := range filepath.SplitList(value) {
				write = append(write, filepath.Join(path, "pkg", "mod"))
			}
		}
	}
	write = slices.DeleteFunc(write, func(path string) bool { return !filepath.IsAbs(path) })
	var errs []error
	for _, path := range write {
		errs = append(errs, os.MkdirAll(path, 0o755))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fail(KindHost, fmt.Errorf("create the caches of the go command: %w", err))
	}
	return &process.Access{Hidden: a.hidden, Write: write}, nil
}

// ownFolders returns the directories that the module of an assignment writes to. For a model and
// for predictions it is the directory that they are made in, which therefore contains nothing of
// the worker's. The directories of all trials of a job are in one directory.
func ownFolders(assignment module.Assignment) (folders []string) {
	for _, path := range []string{assignment.WorkingDir, assignment.ModelRunDir, assignment.BestHyperparametersDir, assignment.TunerResultsDir} {
		if path != "" {
			folders = append(folders, path)
		}
	}
	made := []string{assignment.ServingModelDir, assignment.EvalModelDir}
	if assignment.Predictions != nil {
		made = append(made, assignment.Predictions.Path, assignment.Predictions.LabelsPath, assignment.Predictions.MemoryPath)
	}
	if assignment.Trial != nil && assignment.WorkingDir != "" {
		made = append(made, filepath.Dir(assignment.WorkingDir))
	}
	for _, path := range made {
		if path != "" {
			folders = append(folders, filepath.Dir(path))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// covers reports whether a process with the granted access can work on an assignment.
func covers(granted *process.Access, assignment module.Assignment) bool {
	return granted == nil || !slices.ContainsFunc(ownFolders(assignment), func(folder string) bool {
		return !slices.ContainsFunc(granted.Write, func(path string) bool {
			return folder == path || strings.HasPrefix(folder, strings.TrimSuffix(path, "/")+"/")
		})
	})
}

// RunConfined runs a command of foreign code that only needs to read files. If the kernel has
// Landlock, the command writes only in the directories write and in a temporary directory, which is
// removed afterwards; it can't read hidden, whose paths are absolute, nor the files where programs
// of this user keep credentials. The temporary directory is the command's TMPDIR, and its HOME
// unless its environment sets one. STOKER_MODULE_SANDBOX, STOKER_MODULE_HIDE and
// STOKER_MODULE_WRITE apply as for modules.
func RunConfined(cmd *exec.Cmd, hidden []string, write ...string) (err error) {
	home, err := os.MkdirTemp("", "stoker-confined-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	a, err := newAccess(Options{Hidden: hidden})
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+home)
	if !slices.ContainsFunc(cmd.Env, func(pair string) bool { return strings.HasPrefix(pair, "HOME=") }) {
		cmd.Env = append(cmd.Env, "HOME="+home)
	}
	var access *process.Access
	if a.on {
		access = &process.Access{Hidden: a.hidden, Write: slices.Concat(write, a.write)}
	}
	return process.Run(cmd, home, process.Bounds{Access: access})
}

// allowedEnv returns the part of the worker's environment that a module may see. The rest may hold
// the credentials of the bus and the store.
func allowedEnv(environ []string) []string {
	var kept []string
	for _, pair := range environ {
		if name, _, _ := strings.Cut(pair, "="); allowed(name) {
			kept = append(kept, pair)
		}
	}
	return kept
}

func allowed(name string) bool {
	names := []string{
		"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"STOKER_PRELOAD", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "OMP_NUM_THREADS",
		"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_HOME", cacheEnv, "XLA_FLAGS", "STOKER_KERNELS", "STOKER_MAX_RECORD_MIB", "STOKER_GPU_MEMORY", "STOKER_CUBLAS",
		"TF_CONFIG", "TF_USE_LEGACY_KERAS", "TF_DETERMINISTIC_OPS", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_FORCE_UNIFIED_MEMORY",
		"TF_ENABLE_ONEDNN_OPTS", "TF_ENABLE_AUTO_MIXED_PRECISION", "TF_USE_CUBLASLT", "TF_AUTOTUNE_THRESHOLD", "TF_SYNC_ON_FINISH",
	}
	return slices.Contains(names, name) || slices.ContainsFunc(tensorFlow(), func(family string) bool {
		return strings.HasPrefix(name, family)
	})
}

// tensorFlow returns prefixes of names that only TensorFlow uses. TF_ alone is also Terraform's,
// which keeps credentials in TF_VAR_*, TF_TOKEN_*, TF_CLI_*, TF_HTTP_* and TF_ENCRYPTION.
func tensorFlow() []string {
	return []string{"TF_CPP_", "TF_NUM_", "TF_GPU_", "TF_CUDNN_", "TF_CUDA_", "TF_XLA_", "TF_ONEDNN_", "TF_TRT_", "TPU_"}
}
