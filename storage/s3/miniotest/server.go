//go:build minio

package miniotest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Server is a running MinIO: a separate program, never linked, because it is AGPL.
type Server struct {
	Endpoint  string // http://127.0.0.1:<port>
	AccessKey string
	SecretKey string

	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the process has ended
	err  error         // its error; valid after done
}

// Start builds MinIO if necessary, runs it on a free port of this machine with its data in a
// temporary directory of the test, and waits until it is ready. It stops at the end of the test.
// env is added to its environment: MinIO's own settings, NAME=value.
func Start(t testing.TB, env ...string) *Server {
	t.Helper()
	s, err := start(t.Context(), t.TempDir(), env, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start is Start without a test. It calls say with the progress of slow steps.
func start(ctx context.Context, dir string, env []string, say func(format string, args ...any)) (*Server, error) {
	program, err := build(ctx, say)
	if err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, fmt.Errorf("start minio: %w", err)
	}
	s := &Server{
		Endpoint: "http://" + addr, AccessKey: rand.Text()[:20], SecretKey: rand.Text(),
		log: filepath.Join(dir, "minio.log"), done: make(chan struct{}),
	}
	if err := s.run(program, addr, dir, env); err != nil {
		return nil, fmt.Errorf("start minio: %w", err)
	}
	if err := s.ready(ctx); err != nil {
		s.close()
		said, _ := os.ReadFile(s.log)
		return nil, fmt.Errorf("start minio: %w\n%s", err, said)
	}
	return s, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (s *Server) run(program, addr, dir string, env []string) error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close()
	data := filepath.Join(dir, "data")
	s.cmd = exec.Command(program, "server", "--quiet", "--address", addr, "--console-address", "127.0.0.1:0", data)
	s.cmd.Env = append([]string{
		"MINIO_ROOT_USER=" + s.AccessKey, "MINIO_ROOT_PASSWORD=" + s.SecretKey,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME=" + dir, "PATH=" + os.Getenv("PATH"),
	}, env...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() { // close waits for it
		defer close(s.done)
		s.err = s.cmd.Wait()
	}()
	return nil
}

func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond) // another program: its answer is the only signal
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/minio/health/ready", nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-s.done:
			return fmt.Errorf("it ended: %w", s.err)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", s.Endpoint, ctx.Err())
		}
	}
}

// close stops the server and waits for it.
func (s *Server) close() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !os.IsNotExist(err) && err != os.ErrProcessDone {
		return fmt.Errorf("stop minio: %w", err)
	}
	select {
	case <-s.done:
	case <-time.After(15 * time.Second):
		if err := s.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("stop minio: %w", err)
		}
		<-s.done
	}
	return nil
}
