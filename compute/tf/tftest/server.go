package tftest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

//go:embed server.py
var serverScript string

// server is a Python process with TensorFlow imported. It ends when its stdin does, so it can't
// outlive the test binary.
type server struct {
	mu      sync.Mutex // one request at a time
	stdin   io.Writer
	answers *bufio.Reader
	stderr  *os.File
}

type request struct {
	Script string `json:"script"`
	Input  any    `json:"input"`
}

type answer struct {
	Output json.RawMessage `json:"output"`
	Error  string          `json:"error"`
	Log    string          `json:"log"`
}

// shared is the one server of a test binary, started by the first test that needs it: an import
// costs 6 to 10 CPU-seconds.
var shared = sync.OnceValues(func() (*server, error) { return serverOf(installed) })

// analysisShared is that of the environment with TensorFlow Model Analysis.
var analysisShared = sync.OnceValues(func() (*server, error) { return serverOf(analysisInstalled) })

// estimatorShared is that of the environment with Estimators.
var estimatorShared = sync.OnceValues(func() (*server, error) { return serverOf(estimatorInstalled) })

func serverOf(installed func() (string, error)) (*server, error) {
	python, err := installed()
	if err != nil {
		return nil, err
	}
	return start(python)
}

// installed is the interpreter of the shared environment, made if need be.
var installed = sync.OnceValues(func() (string, error) { return installFrom(lockfile) })

// analysisInstalled is that of the environment with TensorFlow Model Analysis.
var analysisInstalled = sync.OnceValues(func() (string, error) { return installFrom(analysisLockfile) })

// estimatorInstalled is that of the environment with Estimators.
var estimatorInstalled = sync.OnceValues(func() (string, error) { return installFrom(estimatorLockfile) })

// orbaxInstalled is that of the environment with Orbax and JAX.
var orbaxInstalled = sync.OnceValues(func() (string, error) { return installFrom(orbaxLockfile) })

func installFrom(lock []byte) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for TensorFlow: %w", err)
	}
	env, err := findEnvironment(cache, lock, terminal())
	if err != nil {
		return "", err
	}
	return env.python(), env.ensure(installPackages)
}

// terminal returns a writer for notices that users see at once. The go tool holds back a test's
// stderr, so it is the terminal itself if there is one.
func terminal() io.Writer {
	if tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
		return tty
	}
	return os.Stderr
}

func start(python string) (*server, error) {
	stderr, err := os.CreateTemp("", "tftest-*.log")
	if err != nil {
		return nil, fmt.Errorf("start Python: %w", err)
	}
	defer os.Remove(stderr.Name()) // read through its descriptor only
	cmd := exec.Command(python, "-c", serverScript)
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=1", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Dir = filepath.Dir(stderr.Name())
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start Python: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start Python: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start Python: %w", err)
	}
	return &server{stdin: stdin, answers: bufio.NewReader(stdout), stderr: stderr}, nil
}

func (s *server) ask(r request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, fmt.Errorf("encode input of script: %w", err)
	}
	if _, err := s.stdin.Write(append(line, '\n')); err != nil {
		return answer{}, s.died(err)
	}
	line, err = s.answers.ReadBytes('\n')
	if err != nil {
		return answer{}, s.died(err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return answer{}, fmt.Errorf("decode answer of Python: %w", err)
	}
	return a, nil
}

// died adds to the error of a server that no longer answers its last output.
func (s *server) died(err error) error {
	var text []byte
	if _, seekErr := s.stderr.Seek(0, io.SeekStart); seekErr == nil {
		text, _ = io.ReadAll(s.stderr)
	}
	return fmt.Errorf("python with TensorFlow ended: %w: %s", err, lastLine(string(text)))
}
