//go:build minio

package s3_test

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
	"time"
)

// minioServer is a running MinIO: a program of its own, never linked, because it is AGPL.
type minioServer struct {
	endpoint  string
	accessKey string
	secretKey string

	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the process has ended
	err  error         // how; readable after done
}

// startMinIO builds MinIO if need be, runs it on a free port of this machine with its data below dir, and waits until it is ready.
// say tells what takes so long.
func startMinIO(ctx context.Context, dir string, say func(format string, args ...any)) (*minioServer, error) {
	program, err := buildMinIO(ctx, say)
	if err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, fmt.Errorf("start minio: %w", err)
	}
	s := &minioServer{
		endpoint: "http://" + addr, accessKey: rand.Text()[:20], secretKey: rand.Text(),
		log: filepath.Join(dir, "minio.log"), done: make(chan struct{}),
	}
	if err := s.run(program, addr, dir); err != nil {
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

func (s *minioServer) run(program, addr, dir string) error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close()
	data := filepath.Join(dir, "data")
	s.cmd = exec.Command(program, "server", "--quiet", "--address", addr, "--console-address", "127.0.0.1:0", data)
	s.cmd.Env = []string{
		"MINIO_ROOT_USER=" + s.accessKey, "MINIO_ROOT_PASSWORD=" + s.secretKey,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME=" + dir, "PATH=" + os.Getenv("PATH"),
	}
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

func (s *minioServer) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond) // another program: there is no signal but its answer
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.endpoint+"/minio/health/ready", nil)
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
			return fmt.Errorf("wait for %s: %w", s.endpoint, ctx.Err())
		}
	}
}

// close ends the server and waits for it.
func (s *minioServer) close() error {
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
