package pages_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/infra/readme"
)

// The page's commands do what it says, with curl and the local stack.
func TestTheCommandsOfThePageOnHTTPDoWhatItSays(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: the program is built, and trains")
	}
	bin := t.TempDir()
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "stoker"), "../../functions/stoker").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	page := strings.ReplaceAll(read(t, "http.md"), "127.0.0.1:8791", freeAddress(t))
	blocks, err := readme.Parse("http.md", strings.ReplaceAll(page, "$ stoker up\n", "$ stoker up --console off\n"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	env := []string{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, "data"), "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
	if err := readme.Run(t.Context(), blocks, readme.Options{Dir: root, Env: env, Timeout: 5 * time.Minute, Log: t.Output()}); err != nil {
		t.Fatal("http.md: ", err)
	}
}

// freeAddress is one of loopback that nobody gets by chance: systems choose ports above 32767 for who asks for any.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000))
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}
}
