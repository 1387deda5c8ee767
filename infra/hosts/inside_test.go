//go:build hosts

package hosts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/local/bucket"
)

const (
	insideEnv = "STOKER_HOSTS_INSIDE"
	storeEnv  = "STOKER_HOSTS_STORE" // folder: this process is the store
)

// TestMain continues in network, mount and process namespaces of its own. Processes that are
// started there end with the first process in it, and the hosts with that.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(storeEnv) != "":
		exitIf(serveStore(os.Getenv(storeEnv)))
	case os.Getenv(insideEnv) == "":
		exitIf(goInside())
	default:
		// ip keeps its namespaces here; the mount is visible to this process only.
		if err := syscall.Mount("hosts", "/run", "tmpfs", 0, ""); err != nil {
			exitIf(fmt.Errorf("a /run of our own: %w", err))
		}
		os.Exit(m.Run())
	}
}

func exitIf(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hosts:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// goInside becomes unshare, which starts this binary again.
func goInside() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("network namespaces need root: run it as root, on a machine of its own")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return fmt.Errorf("%w: install iproute2", err)
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return fmt.Errorf("%w: install util-linux", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{unshare, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", self}, os.Args[1:]...)
	return syscall.Exec(unshare, args, append(os.Environ(), insideEnv+"=1"))
}

const storePort = 9000

// serveStore is the main function of the store. It prints its keys.
func serveStore(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	host, dir, _ := strings.Cut(dir, "=")
	server, err := bucket.Start(ctx, bucket.Options{Dir: dir, Host: host, Port: storePort})
	if err != nil {
		return err
	}
	keys := server.Credentials()
	fmt.Println(keys.AccessKey, keys.SecretKey)
	<-ctx.Done()
	return server.Close()
}
