package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// The environment's words for what modules may do with files.
const (
	hideEnv  = "STOKER_MODULE_HIDE"  // paths, separated as in PATH, that modules can't read
	writeEnv = "STOKER_MODULE_WRITE" // paths, separated as in PATH, that modules write to besides their own folders
	warmEnv  = "STOKER_MODULE_WARM"  // worker, the default: processes kept ready run the worker's own packages only; any: see newAccess
)

// access is what the modules of a host may do with files. The zero one is as much as the worker may.
type access struct {
	on            bool
	hidden, write []string
	work          string // a folder with those of all assignments; "": not known
	warmAny       bool   // processes kept ready may run code of pipelines, and threads that their sandbox does not hold
}

// newAccess reads what Options and the worker's environment say.
func newAccess(opts Options) (access, error) { return accessWhere(opts, process.CanSandbox()) }

// accessWhere is newAccess on a machine that cannot hold processes to a sandbox, for a reason; nil: it can.
func accessWhere(opts Options, cannot error) (access, error) {
	a := access{hidden: slices.Concat(credentialPaths(os.Environ()), opts.Hidden, filepath.SplitList(os.Getenv(hideEnv))),
		write: slices.Concat(opts.Writable, filepath.SplitList(os.Getenv(writeEnv)))}
	if opts.WorkDir != "" {
		work, err := filepath.Abs(opts.WorkDir)
		if err != nil {
			return access{}, fmt.Errorf("find where modules work: %w", err)
		}
		a.work = work
	}
	for _, path := range slices.Concat(a.hidden, a.write) {
		if !filepath.IsAbs(path) {
			return access{}, fmt.Errorf("what modules may read and write: %q: expected an absolute path", path)
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
			opts.Logger.Warn("modules run without a sandbox: they read and write what the worker's user may", "reason", cannot)
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

// credentialPaths are where the programs that a worker's user runs keep credentials: by their defaults, and as the environment says.
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

// of is the access of a process that works on an assignment, whose folders are made where they are missing; nil: that of the worker.
func (a access) of(told module.Assignment) (*process.Access, error) {
	if !a.on {
		return nil, nil
	}
	own := ownFolders(told)
	var errs []error
	for _, folder := range own {
		errs = append(errs, os.MkdirAll(folder, 0o755))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fail(KindHost, fmt.Errorf("module %s: make its folders: %w", told.Module, err))
	}
	return &process.Access{Hidden: a.hidden, Write: slices.Concat(own, a.write)}, nil
}

// ofWarm returns the access of a process that starts before its assignment is known, and enters a narrower sandbox when it gets one; nil:
// that of the worker. It writes in its own home, in more, and in the folders of all assignments: such a process must run the worker's own
// packages only, see foreign.
func (a access) ofWarm(more ...string) *process.Access {
	if !a.on || a.work == "" {
		return nil
	}
	return &process.Access{Hidden: a.hidden, Write: slices.Concat(more, []string{a.work}, a.write)}
}

// foreign returns an error if a TFX module must not run in a process that is kept ready. Until such a process has its job it may write in the
// folders of all jobs, and Python enters the job's sandbox by itself, after code of installed packages has run (.pth files): packages and
// interpreters that a pipeline chooses could write in the folders of other jobs, or never enter. byDefault is the worker's interpreter.
func (a access) foreign(source module.Source, byDefault string) error {
	if !a.on || a.warmAny || len(source.Requirements) == 0 && (source.Python == "" || source.Python == byDefault) {
		return nil
	}
	return fmt.Errorf("%w for requirements and interpreters that pipelines name (%s=any allows it)", errCold, warmEnv)
}

// ofBuild is the access of a go command, in an environment, that builds a program in a folder, "" if it builds none; nil: that of the worker.
// The caches are made where they are missing.
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
		return nil, fail(KindHost, fmt.Errorf("make the caches of the go command: %w", err))
	}
	return &process.Access{Hidden: a.hidden, Write: write}, nil
}

// ownFolders are those that the module of an assignment writes to. A model and predictions have the folder that they are made in, which
// therefore holds nothing of the worker's. Those of all trials of a job are in one folder.
func ownFolders(told module.Assignment) (folders []string) {
	for _, path := range []string{told.WorkingDir, told.ModelRunDir, told.BestHyperparametersDir, told.TunerResultsDir} {
		if path != "" {
			folders = append(folders, path)
		}
	}
	made := []string{told.ServingModelDir, told.EvalModelDir}
	if told.Predictions != nil {
		made = append(made, told.Predictions.Path, told.Predictions.LabelsPath, told.Predictions.MemoryPath)
	}
	if told.Trial != nil && told.WorkingDir != "" {
		made = append(made, filepath.Dir(told.WorkingDir))
	}
	for _, path := range made {
		if path != "" {
			folders = append(folders, filepath.Dir(path))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// covers says whether a process with this access can work on an assignment.
func covers(granted *process.Access, told module.Assignment) bool {
	return granted == nil || !slices.ContainsFunc(ownFolders(told), func(folder string) bool {
		return !slices.ContainsFunc(granted.Write, func(path string) bool {
			return folder == path || strings.HasPrefix(folder, strings.TrimSuffix(path, "/")+"/")
		})
	})
}
