package kube

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExceedMemory makes a running pod exceed its memory limit: it lowers the limit to what the pod
// uses, until the kernel has killed a process for it. With control groups of version 1 that is one
// process of the pod; with version 2 it is all of them (see KillProcesses).
func (s *Server) ExceedMemory(ctx context.Context, namespace, pod string) error {
	group, err := s.memoryGroup(ctx, namespace, pod)
	if err != nil {
		return err
	}
	return s.poll(ctx, func() error {
		text, err := os.ReadFile(filepath.Join(group, "memory.usage_in_bytes"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the pod is gone
		}
		if err != nil {
			return err
		}
		used, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return err
		}
		// The kernel refuses a limit that it can't enforce at once.
		_ = os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), []byte(fmt.Sprint(used)), 0)
		control, err := os.ReadFile(filepath.Join(group, "memory.oom_control"))
		if err != nil {
			return nil
		}
		if strings.Contains(string(control), "oom_kill 0") {
			time.Sleep(50 * time.Millisecond)
			return errors.New("the kernel has killed no process yet")
		}
		return nil
	})
}

// KillProcesses kills all processes of a pod at once, as the kernel does when one of its containers
// exceeds its memory in a control group of version 2.
func (s *Server) KillProcesses(ctx context.Context, namespace, pod string) error {
	group, err := s.memoryGroup(ctx, namespace, pod)
	if err != nil {
		return err
	}
	return filepath.WalkDir(group, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "cgroup.procs" {
			return err
		}
		processes, err := os.ReadFile(path)
		for pid := range strings.FieldsSeq(string(processes)) {
			number, _ := strconv.Atoi(pid)
			err = errors.Join(err, unix.Kill(number, unix.SIGKILL))
		}
		return err
	})
}

// Memory returns how many pods of a namespace run, and the bytes in memory of their processes.
func (s *Server) Memory(ctx context.Context, namespace string) (pods int, bytes int64, err error) {
	all, err := s.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		return 0, 0, err
	}
	for _, pod := range all.Items {
		group, err := s.memoryGroup(ctx, namespace, pod.Name)
		if err != nil {
			return 0, 0, err
		}
		stat, err := os.ReadFile(filepath.Join(group, "memory.stat"))
		if err != nil {
			return 0, 0, err
		}
		for line := range strings.Lines(string(stat)) {
			if value, ok := strings.CutPrefix(line, "total_rss "); ok {
				used, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
				if err != nil {
					return 0, 0, err
				}
				bytes += used
			}
		}
	}
	return len(all.Items), bytes, nil
}

// memoryGroup returns the control group of a running pod's memory.
func (s *Server) memoryGroup(ctx context.Context, namespace, pod string) (string, error) {
	found, err := s.Kube.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	all, err := hierarchies()
	if err != nil {
		return "", err
	}
	var group string
	for _, h := range all {
		if h.controller != "memory" {
			continue
		}
		root := filepath.Join(h.mount, h.own, groupName(s.dir), found.Spec.NodeName)
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && strings.HasSuffix(entry.Name(), string(found.UID)) {
				group = path
			}
			return err
		})
	}
	if err == nil && group == "" {
		err = fmt.Errorf("pod %s has no control group of memory on %s", pod, found.Spec.NodeName)
	}
	return group, err
}
