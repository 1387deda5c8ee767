package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// `stoker demo` runs in the image: bus, store, dispatcher and worker, with a module process that
// trains. Its root is read-only, its user 65532, it has no capability and can gain none. The test
// needs root, to make such a container.
func TestTheImageTrainsOnAReadOnlyRootWithoutPrivileges(t *testing.T) {
	out := contain(t, "/usr/bin/stoker", "demo")
	if !strings.Contains(out, "accuracy  0") {
		t.Errorf("no model came of it:\n%s", out)
	}
}

// The sandbox works: a program that is missing can't be started, and only /tmp can be written to.
func TestTheImageHasNoShellAndItsFilesStay(t *testing.T) {
	for _, args := range [][]string{{"/bin/sh", "-c", "true"}, {"/usr/bin/stoker", "man", "/usr"}, {"/usr/bin/stoker", "access", "key", "/etc/key"}} {
		cmd := container(t, args...)
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%q works in the image:\n%s", args, out)
		}
	}
	contain(t, "/usr/bin/stoker", "access", "key", "/tmp/key")

	owner := container(t, "/usr/bin/stoker", "access", "key", "/etc/key")
	owner.Env = append(owner.Env, "AS=0:0") // for whom permissions have no effect
	if out, err := owner.CombinedOutput(); err == nil || !strings.Contains(string(out), "read-only file system") {
		t.Errorf("the root can be written to: %v\n%s", err, out)
	}
}

func contain(t *testing.T, args ...string) string {
	t.Helper()
	out, err := container(t, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// inMemory is the image, made once.
var inMemory = sync.OnceValues(func() (v1.Image, error) {
	binary, err := stoker()
	if err != nil {
		return nil, err
	}
	target, err := ReadTarget("Containerfile", "stoker", "v1.2.3")
	if err != nil {
		return nil, err
	}
	return Build(Options{Binary: binary, Config: target.Config})
})

// container returns a command in the image's files.
func container(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	made, err := inMemory()
	must(t, err)
	root := t.TempDir()
	must(t, Unpack(made, root))
	config, err := made.ConfigFile()
	must(t, err)
	return confined(t, root, config.Config.Env, args...)
}

// confined returns a command in a root of its own, as a runtime starts it: mounts and processes of
// its own, the root read-only, /tmp in memory, no capabilities. The folder of the host that SEEN
// names is at /mnt, to be read.
func confined(t *testing.T, root string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("needs root, to mount and to change users")
	}
	for _, folder := range []string{"/proc", "/dev", "/mnt"} {
		must(t, os.MkdirAll(root+folder, 0o755))
	}
	const inside = `set -e
		mount --bind "$ROOT" "$ROOT"
		mount -t tmpfs -o mode=1777 tmp "$ROOT/tmp"
		mount -t proc proc "$ROOT/proc"
		mount -t tmpfs -o mode=755 dev "$ROOT/dev"
		for device in null zero random urandom; do touch "$ROOT/dev/$device"; mount --bind "/dev/$device" "$ROOT/dev/$device"; done
		mkdir -m 1777 "$ROOT/dev/shm" && mount -t tmpfs -o mode=1777 shm "$ROOT/dev/shm"
		[ -z "${SEEN:-}" ] || { mount --bind "$SEEN" "$ROOT/mnt" && mount -o remount,bind,ro "$ROOT/mnt"; }
		mount -o remount,bind,ro "$ROOT"
		chroot=$(command -v chroot) setpriv=$(command -v setpriv)
		exec "$setpriv" --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid --inh-caps=-all "$chroot" --userspec="${AS:-65532:65532}" "$ROOT" "$@"`
	cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "--pid", "--ipc", "--fork", "--kill-child", "bash", "-c", inside, "-"}, args...)...)
	cmd.Env = append(slices.Clone(env), "ROOT="+root, "PATH="+os.Getenv("PATH"))
	return cmd
}
