package guest

import (
	"os"
	"slices"
	"testing"
)

// The real kernel, version 2: a child is born in its parent's cgroup, and works in one of its own.
func TestAForkedProcessIsMovedToItsCgroupOfVersion2(t *testing.T) {
	t.Parallel()
	groups := &cgroups{dir: unifiedCgroup(t), v2: true, mkdir: makeCgroup, rmdir: os.Remove}
	line, env := fakeServer(t, serves)
	server, err := startForkServer(t.TempDir(), groups, line, env)
	if err != nil {
		t.Fatal(err)
	}
	defer server.end()
	go server.greet()
	<-server.ready
	p, err := server.fork(t.TempDir(), groups, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if in, around := p.cgroup.processes(), server.process.cgroup.processes(); !slices.Equal(in, []int{p.pid()}) || slices.Contains(around, p.pid()) {
		t.Errorf("process %d: in its cgroup are %v, in the server's %v", p.pid(), in, around)
	}
	p.end()
	if server.process.dead() {
		t.Error("the server ended with it")
	}
}
