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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExceedMemory makes a running pod exceed its memory limit: it lowers the limit of its containers
// to what they use, until the kernel has killed one for it.
func (s *Server) ExceedMemory(ctx context.Context, namespace, pod string) error {
	found, err := s.Kube.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return err
	}
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var group string
	for _, h := range all {
		if h.controller != "memory" {
			continue
		}
		root := filepath.Join(h.mount, h.own, groupName(s.dir), found.Spec.NodeName)
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && strings.Contains(entry.Name(), string(found.UID)) {
				group = path
			}
			return nil
		})
	}
	if group == "" {
		return fmt.Errorf("pod %s has no control group of memory on %s", pod, found.Spec.NodeName)
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
