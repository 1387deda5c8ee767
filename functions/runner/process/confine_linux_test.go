package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tryEnv names what this test binary tries, as a module would, in a process of its own.
const tryEnv = "STOKER_TEST_TRY"

func TestMain(m *testing.M) {
	if entered, err := Enter(os.Args); entered {
		fmt.Println(err)
		os.Exit(126)
	}
	name, argument, _ := strings.Cut(os.Getenv(tryEnv), " ")
	try, ok := map[string]func(string) error{
		"files": manyFiles, "size": largeFile, "processes": manyProcesses, "network": dial, "core": coreLimit, "users": users, "confined": confined,
		"session": session, "memory": holdMemory, "others": others, "report": reportUser, "linger": linger, "threads": everyThread,
	}[name]
	if !ok {
		os.Exit(m.Run())
	}
	if name != "confined" {
		// Like a module that waits for its assignment.
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}
	fmt.Println(try(argument))
	os.Exit(0)
}

func manyFiles(string) error {
	for i := range 10_000 {
		if _, err := os.Open("/dev/null"); err != nil {
			return fmt.Errorf("after %d: %w", i, err)
		}
	}
	return nil
}

func largeFile(string) error {
	return os.WriteFile("large", make([]byte, 2<<20), 0o600)
}

func coreLimit(string) error {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit)
	return errors.Join(err, fmt.Errorf("core of %d bytes", limit.Max))
}

func users(string) error { return fmt.Errorf("user %d and %d", os.Getuid(), os.Geteuid()) }

func dial(address string) error {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

// manyProcesses starts many processes that sleep, and ends them all.
func manyProcesses(string) (err error) {
	var started []*os.Process
	for len(started) < 20_000 && err == nil {
		sleep := exec.Command("/bin/sleep", "60")
		if err = sleep.Start(); err == nil {
			started = append(started, sleep.Process)
		}
	}
	for _, process := range started {
		_ = process.Kill()
	}
	return err
}

// confined tries some things as a module of this process's user, in a directory. It hides its
// memory as a worker does, once it has reported whether its user may make namespaces at all.
func confined(dir string) error {
	said := []error{fmt.Errorf("namespaces: %w", errors.Join(errors.New("asked for"), Confinement{NoNetwork: true}.check()))}
	if err := HideSecrets(); err != nil {
		return err
	}
	for what, confinement := range map[string]Confinement{
		"processes": {Processes: 20}, "network 127.0.0.1:1": {NoNetwork: true}, "users": {NoNetwork: true},
	} {
		supervisor := &Supervisor{dir: dir, close: func() error { return nil }}
		err := supervisor.Confine(confinement)
		text := ""
		if err == nil {
			text, err = tried(supervisor, what)
		}
		said = append(said, err, errors.New(text))
	}
	return errors.Join(said...)
}

// tried returns the output of a process of the supervisor that tries something.
func tried(supervisor *Supervisor, what string) (string, error) {
	p, err := supervisor.Start(Command{Line: []string{os.Args[0]}, Env: append(os.Environ(), tryEnv+"="+what)})
	if err != nil {
		return "", err
	}
	defer p.End()
	if _, err := io.WriteString(p.Stdin, "\n"); err != nil {
		return "", err
	}
	// Far off: so that a red test ends.
	if err := p.Output.SetReadDeadline(time.Now().Add(8 * time.Minute)); err != nil {
		return "", err
	}
	text, err := bufio.NewReader(p.Output).ReadString('\n')
	return text, err
}

func TestAModuleIsHeldToItsLimits(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for what, try := range map[string]struct {
		confinement Confinement
		want, free  string // under the limit, and without it
	}{
		"files":                               {Confinement{OpenFiles: 100}, "too many open files", "<nil>"},
		"size":                                {Confinement{FileBytes: 1 << 20}, "file too large", "<nil>"},
		"core":                                {Confinement{}, "core of 0 bytes", ""},
		"network " + listener.Addr().String(): {Confinement{NoNetwork: true}, "network is unreachable", "<nil>"},
	} {
		supervisor := supervisorWith(t, nil)
		if err := supervisor.Confine(try.confinement); err != nil {
			t.Fatal(err)
		}
		if text, err := tried(supervisor, what); !strings.Contains(text, try.want) {
			t.Errorf("%s: got %q, %v, want %q", what, text, err, try.want)
		}
		if text, err := tried(supervisorWith(t, nil), what); try.free != "" && !strings.Contains(text, try.free) {
			t.Errorf("%s, without a limit: got %q, %v, want %q", what, text, err, try.free)
		}
	}
}

// The kernel exempts root, so a test that runs as root becomes nobody for this. Nobody may be
// forbidden to make user namespaces; then no module runs without a network, and that is reported,
// also for a process that hides nothing.
func TestModulesOfAnOrdinaryUserAreHeldToTheirLimits(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "stoker-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "try")
	text, err := os.ReadFile(os.Args[0])
	if err == nil {
		// Otherwise a process that another test starts holds the file open for writing: "text file
		// busy".
		syscall.ForkLock.RLock()
		err = errors.Join(os.WriteFile(program, text, 0o755), os.Chmod(dir, 0o777))
		syscall.ForkLock.RUnlock()
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), tryEnv+"=confined "+dir)
	cmd.Dir = dir
	uid := os.Getuid()
	if uid == 0 {
		uid = 65533
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "resource temporarily unavailable") {
		t.Errorf("got %s, %v, want that the kernel refuses more processes", out, err)
	}
	if strings.Count(string(out), "the kernel refuses a network namespace") == 3 {
		t.Log("this user may make no namespaces")
		return
	}
	if !strings.Contains(string(out), "network is unreachable") {
		t.Errorf("got %s, want no network", out)
	}
	if want := fmt.Sprintf("user %d and %[1]d", uid); !strings.Contains(string(out), want) {
		t.Errorf("got %s, want %s", out, want)
	}
}

func TestConfinementOfTheEnvironment(t *testing.T) {
	t.Setenv(networkEnv, "none")
	t.Setenv(openFilesEnv, "10")
	if c, err := ConfinementFromEnv(); err != nil || c != (Confinement{NoNetwork: true, OpenFiles: 10}) {
		t.Errorf("got %+v, %v", c, err)
	}
	t.Setenv(fileBytesEnv, "1GiB")
	if _, err := ConfinementFromEnv(); err == nil || !strings.Contains(err.Error(), fileBytesEnv) {
		t.Errorf("got %v, want an error that names %s", err, fileBytesEnv)
	}
	t.Setenv(networkEnv, "no")
	if _, err := ConfinementFromEnv(); err == nil || !strings.Contains(err.Error(), "none or host") {
		t.Errorf("got %v, want the words there are", err)
	}
}
