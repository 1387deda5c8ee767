package kube

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const maxNodes = 4

// StartNodes starts the controllers and the scheduler of Kubernetes, and nodes, and waits until
// these are ready. image is the OCI layout of Stoker's image.
func (s *Server) StartNodes(ctx context.Context, count int, image string) error {
	if err := s.makeImages(image); err != nil {
		return err
	}
	for program, args := range map[string][]string{
		"kube-controller-manager": {"--root-ca-file", s.Path("pki/ca.crt"), "--use-service-account-credentials", "--leader-elect=false",
			"--node-monitor-grace-period", "20s", "--kube-api-qps", "100", "--kube-api-burst", "200", "--service-account-private-key-file", s.Path("pki/accounts.key")},
		"kube-scheduler": {"--leader-elect=false"},
	} {
		file := s.Path(program + ".kubeconfig")
		if err := kubeconfig(file, s.Path("pki/ca.crt"), program); err != nil {
			return err
		}
		args = append(args, "--kubeconfig", file, "--authentication-kubeconfig", file, "--authorization-kubeconfig", file, "--bind-address", "127.0.0.1")
		if err := s.run(program, args...); err != nil {
			return err
		}
	}
	if err := makeGroups(groupName(s.dir)); err != nil {
		return err
	}
	for n := 1; n <= count; n++ {
		one := node{Number: n, Of: count, Run: groupName(s.dir), Binaries: s.binaries, Dir: s.Path(node{Number: n}.name())}
		cmd, err := one.start()
		if err != nil {
			return err
		}
		s.nodes[one.name()] = cmd.Process.Pid
		go func() {
			err := cmd.Wait()
			s.ended <- fmt.Errorf("%s ended: %v\n%s", one.name(), err, s.Log(one.name()+"/log/node"))
		}()
	}
	if err := s.reachServices(); err != nil {
		return err
	}
	return s.nodesReady(ctx, count, "!"+Fake)
}

// reachServices lets programs on this machine reach services by name, as pods do: the proxy of the
// first node forwards what comes for them.
func (s *Server) reachServices() error {
	if err := routeVia(serviceRange, nodeAddress(1)); err != nil {
		return err
	}
	file := s.Path("resolv.conf")
	text := fmt.Sprintf("nameserver %s\nsearch svc.%s %s\noptions ndots:5\n", dnsAddress, clusterDomain, clusterDomain)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	if err := unix.Mount(file, "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount /etc/resolv.conf: %w", err)
	}
	return nil
}

// nodesReady waits until that many nodes with a label are ready.
func (s *Server) nodesReady(ctx context.Context, count int, selector string) error {
	return s.poll(ctx, func() error {
		nodes, err := s.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		ready := 0
		for _, node := range nodes.Items {
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if ready != count {
			return fmt.Errorf("%d of %d nodes are ready", ready, count)
		}
		return nil
	})
}
