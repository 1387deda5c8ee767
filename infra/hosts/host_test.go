//go:build hosts

package hosts

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// host is one network namespace.
type host struct {
	t    *testing.T
	name string
	ip   string
}

const ourIP = "10.77.0.254" // of the test itself, on the bridge

// newHosts makes the bridge and one host for each name.
func newHosts(t *testing.T, names ...string) (hosts []*host) {
	t.Helper()
	ip(t, "link set lo up")
	ip(t, "link add hub type bridge")
	ip(t, "addr add "+ourIP+"/24 dev hub")
	ip(t, "link set hub up")
	for i, name := range names {
		h := &host{t: t, name: name, ip: fmt.Sprintf("10.77.0.%d", i+1)}
		ip(t, "netns add "+name)
		ip(t, "link add to-"+name+" type veth peer name eth0 netns "+name)
		ip(t, "link set to-"+name+" master hub up")
		ip(t, "-n "+name+" link set lo up")
		ip(t, "-n "+name+" addr add "+h.ip+"/24 dev eth0")
		ip(t, "-n "+name+" link set eth0 up")
		hosts = append(hosts, h)
	}
	return hosts
}

// cut takes the host off the bridge, as a pulled cable does: connections are not closed.
func (h *host) cut() { h.t.Helper(); ip(h.t, "link set to-"+h.name+" down") }

// heal puts the cable back.
func (h *host) heal() { h.t.Helper(); ip(h.t, "link set to-"+h.name+" up") }

// command runs on the host.
func (h *host) command(args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", h.name}, args...)...)
}

func ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", args, err, out)
	}
}
