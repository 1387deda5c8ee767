package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// nodeEnv describes the node, in the process that is its first.
const nodeEnv = "STOKER_KUBERNETES_NODE"

// node is one of Kubernetes: a process with namespaces of all kinds, with containerd, kubelet,
// kube-proxy and kube-router in it, of which the last enforces network policies. Local volumes are
// in /var/lib/kubelet/disk. The files below its folder are where a machine has them:
// /var/lib/kubelet, /run and so on.
type node struct {
	Number   int
	Of       int    // how many there are
	Run      string // names the control groups of this run
	Dir      string
	Binaries string
	Entered  bool // it is in its control groups
}

func (n node) name() string { return fmt.Sprint("node-", n.Number) }

func (n node) path(name string) string { return filepath.Join(n.Dir, name) }

// start starts the node's first process, and connects it to the network.
func (n node) start() (*exec.Cmd, error) {
	for _, dir := range []string{"kubelet/disk", "containerd", "cni", "log"} {
		if err := os.MkdirAll(n.path(dir), 0o755); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(n.path("log/node.log"))
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(text))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", n.name(), err)
	}
	return cmd, plug(n.Number, cmd.Process.Pid)
}

// runNode is the first process of a node. It returns only if the node can't be.
func runNode(described string) error {
	var n node
	if err := json.Unmarshal([]byte(described), &n); err != nil {
		return err
	}
	if !n.Entered {
		return fmt.Errorf("%s: %w", n.name(), n.enter())
	}
	if err := n.serve(); err != nil {
		return fmt.Errorf("%s: %w", n.name(), err)
	}
	return nil
}

// enter makes mounts and control groups, and runs this program again: control groups belong to a
// thread, and a new program begins as the thread that made it.
func (n node) enter() error {
	runtime.LockOSThread()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := joinGroup(filepath.Join(n.Run, n.name())); err != nil {
		return err
	}
	n.Entered = true
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(nodeEnv, string(text)); err != nil {
		return err
	}
	return unix.Exec(self, os.Args[:1], os.Environ())
}

// mounts puts the node's files where programs expect them.
func (n node) mounts() error {
	if err := unix.Mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /var/lib: %w", err)
	}
	for dir, at := range map[string]string{"kubelet": "/var/lib/kubelet", "containerd": "/var/lib/containerd", "cni": "/var/lib/cni", "log": "/var/log"} {
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(n.path(dir), at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", at, err)
		}
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	// The kubelet sets what the whole machine shares. It sets these files instead.
	for file, text := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		fake := filepath.Join("/run/sys", file)
		if err := os.MkdirAll(filepath.Dir(fake), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(fake, []byte(text+"\n"), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(fake, filepath.Join("/proc/sys", file), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", file, err)
		}
	}
	return nil
}

// serve runs the programs of the node until one of them ends.
func (n node) serve() error {
	if err := errors.Join(unix.Sethostname([]byte(n.name())), n.mounts(), joinNetwork(n.Number, n.Of)); err != nil {
		return err
	}
	if err := n.configure(); err != nil {
		return err
	}
	tools := filepath.Join(n.Binaries, "root")
	if err := os.Setenv("PATH", strings.Join([]string{n.Binaries, tools + "/usr/bin", tools + "/usr/sbin", "/usr/sbin", os.Getenv("PATH")}, ":")); err != nil {
		return err
	}
	for name, value := range map[string]string{"LD_LIBRARY_PATH": tools + "/usr/lib/x86_64-linux-gnu", "XTABLES_LIBDIR": tools + "/usr/lib/x86_64-linux-gnu/xtables"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if err := os.Unsetenv(nodeEnv); err != nil {
		return err
	}
	ended := make(chan error, 4)
	if err := n.run(ended, "containerd", "--config", "/run/containerd.toml"); err != nil {
		return err
	}
	if err := n.importImages(); err != nil {
		return err
	}
	for program, args := range map[string][]string{
		"kubelet": {"--config", "/run/kubelet.yaml", "--kubeconfig", "/run/kubelet.kubeconfig", "--hostname-override", n.name(),
			"--node-ip", nodeAddress(n.Number), "--node-labels", "pool=" + map[bool]string{true: "services", false: "workers"}[n.Number == 1]},
		"kube-proxy": {"--config", "/run/proxy.yaml", "--hostname-override", n.name()},
	} {
		if err := n.run(ended, program, args...); err != nil {
			return err
		}
	}
	go n.enforcePolicies()
	go waitForOrphans()
	return <-ended
}

// waitForOrphans waits for processes that end after those that started them, as the first process
// of a machine does.
func waitForOrphans() {
	for {
		time.Sleep(time.Second)
		files, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			return
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			// PID (NAME) STATE PARENT ...
			fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil && fields[0] == "Z" && fields[1] == "1" {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}

// enforcePolicies runs kube-router, again when it ends, as the kubelet would in a pod: it ends
// until the node is registered.
func (n node) enforcePolicies() {
	for {
		ended := make(chan error, 1)
		err := n.run(ended, "kube-router", "--run-firewall=true", "--run-router=false", "--run-service-proxy=false", "--kubeconfig", "/run/router.kubeconfig",
			"--hostname-override", n.name(), "--service-cluster-ip-range", serviceRange)
		if err == nil {
			err = <-ended
		}
		fmt.Fprintln(os.Stderr, err)
		time.Sleep(time.Second)
	}
}

func (n node) run(ended chan<- error, program string, args ...string) error {
	log, err := os.Create(filepath.Join("/var/log", program+".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { ended <- fmt.Errorf("%s ended: %v", program, errors.Join(cmd.Wait(), log.Close())) }()
	return nil
}

// importImages imports the images of the run, each of which is a file.
func (n node) importImages() error {
	files, err := filepath.Glob(filepath.Join(n.Dir, "../images/*.tar"))
	if err != nil {
		return err
	}
	deadline := time.Now().Add(time.Minute)
	for _, file := range files {
		for {
			out, err := exec.Command("ctr", "-n", "k8s.io", "images", "import", file).CombinedOutput()
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("import %s: %w\n%s", file, err, out)
			}
			time.Sleep(100 * time.Millisecond) // containerd is starting
		}
	}
	return nil
}

// configure writes the configuration of the node's programs into /run.
func (n node) configure() error {
	for name, text := range map[string]string{
		"containerd.toml": fmt.Sprintf(containerdConfig, filepath.Join(n.Binaries, "cni")),
		"kubelet.yaml":    fmt.Sprintf(kubeletConfig, n.path("../pki/ca.crt"), dnsAddress, clusterDomain),
		"proxy.yaml":      proxyConfig,
		"resolv.conf":     "",
		"net.d/10-pods.conflist": fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "pods", "plugins": [
			{"type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "hairpinMode": true, "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]]}},
			{"type": "portmap", "capabilities": {"portMappings": true}}]}`, podRange(n.Number)),
	} {
		file := filepath.Join("/run", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := kubeconfig("/run/kubelet.kubeconfig", n.path("../pki/ca.crt"), n.name()); err != nil {
		return err
	}
	if err := kubeconfig("/run/router.kubeconfig", n.path("../pki/ca.crt"), "kube-router"); err != nil {
		return err
	}
	return kubeconfig("/run/proxy.kubeconfig", n.path("../pki/ca.crt"), "kube-proxy")
}

const containerdConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "stoker.test/pause:test"
  restrict_oom_score_adj = true # it needs CAP_SYS_RESOURCE, which containers of build machines lack
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = "/run/net.d"
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %s}}
authorization: {mode: Webhook}
clusterDNS: [%s]
clusterDomain: %s
resolvConf: /run/resolv.conf
volumePluginDir: /var/lib/kubelet/plugins-flex
failSwapOn: false
oomScoreAdj: 0
makeIPTablesUtilChains: true
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 500Mi}
`

const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: /run/proxy.kubeconfig}
clusterCIDR: 10.244.0.0/16
conntrack: {maxPerCore: 0, min: 0}
oomScoreAdj: 0
`
