package docs_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/infra/readmetest"
)

// The page's commands have the documented results, with curl and the local stack.
func TestTheCommandsOfThePageOnHTTPDoWhatItSays(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: the program is built, and trains")
	}
	bin := filepath.Dir(builtStoker(t))
	page := strings.ReplaceAll(read(t, "http.md"), "127.0.0.1:8791", freeAddress(t))
	blocks, err := readmetest.Parse("http.md", strings.ReplaceAll(page, "$ stoker up\n", "$ stoker up --console-listen off\n"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	env := []string{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, "data"), "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
	if err := readmetest.Run(t.Context(), blocks, readmetest.Options{Dir: root, Env: env, Timeout: 5 * time.Minute, Log: t.Output()}); err != nil {
		t.Fatal("http.md: ", err)
	}
}

var (
	statusName = regexp.MustCompile(`\bhttp\.Status(\w+)`)
	statusRow  = regexp.MustCompile(`(?m)^\| (\d{3}(?:, \d{3})*) \|`)
)

// Each status that the endpoint's code names is in the page's table, and no other.
func TestThePageOnHTTPHasEveryStatus(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	files, err := filepath.Glob("../../functions/integrate/bridge/endpoint/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, match := range statusName.FindAllStringSubmatch(read(t, file), -1) {
			// 500 means a defect of the program itself
			if code := statusCode(match[1]); code != 0 && code != http.StatusInternalServerError {
				want[strconv.Itoa(code)] = true
			}
		}
	}
	want[strconv.Itoa(http.StatusRequestHeaderFieldsTooLarge)] = true // net/http's own answer
	got := map[string]bool{}
	for _, row := range statusRow.FindAllStringSubmatch(read(t, "http.md"), -1) {
		for _, code := range strings.Split(row[1], ", ") {
			got[code] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("-the endpoint's +the page's\n%s", diff)
	}
}

// statusCode returns the number of a status by the name of its constant, which is made of its text
// in net/http; 0 if there is none.
func statusCode(name string) int {
	for code := range 600 {
		if text := http.StatusText(code); text != "" && strings.ReplaceAll(text, " ", "") == name {
			return code
		}
	}
	return 0
}

// freeAddress returns a loopback address with a port that no process gets by chance: systems choose
// ports above 32767 for port 0.
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
