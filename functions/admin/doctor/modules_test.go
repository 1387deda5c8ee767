package doctor

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

func TestTheIsolationOfModulesIsExamined(t *testing.T) {
	t.Parallel()
	const shared = "ok modules share the user of their worker: yes"
	const unknown = "ok gVisor is between modules and this machine's kernel: unknown, /proc/version does not name it"
	for name, tc := range map[string]struct {
		guards guards
		want   []string
	}{
		"all": {guards{orphans: true}, []string{"ok they write only to their own folders, and read no credentials (Landlock)", shared, unknown}},
		"gVisor": {guards{orphans: true, gvisor: true}, []string{"ok they write only to their own folders, and read no credentials (Landlock)", shared,
			"ok gVisor is between modules and this machine's kernel: yes"}},
		"switched off": {guards{orphans: true, off: true}, []string{
			"warning modules can read all files of this user, including credentials, and can change the files of other jobs: STOKER_MODULE_SANDBOX=off", shared, unknown,
		}},
		"an older kernel": {guards{orphans: true, lacks: []string{"files can be cut off"}}, []string{"warning modules write only to their own folders and read no credentials, but files can be cut off", shared, unknown}},
		"none": {guards{sandbox: errors.New("no Landlock"), network: errors.New("no namespaces"), root: true}, []string{
			"warning modules can read all files of this user, including credentials, and can change the files of other jobs: no Landlock",
			"warning modules share the user of their worker: yes. It is root, for whom process limits do not apply", unknown,
			"warning processes that a module leaves running may outlive its job",
			"warning modules can't run without a network: no namespaces",
		}},
		"users": {guards{sandbox: errors.New("no Landlock"), orphans: true, root: true, users: "60600-61099"}, []string{
			"warning modules can access all files that every user of this machine can access: no Landlock",
			"ok each process of a module has a user of its own: 60600-61099", unknown,
		}},
		"no users": {guards{orphans: true, noUsers: errors.New("only root can")}, []string{
			"ok they write only to their own folders, and read no credentials (Landlock)",
			"fault modules can't have users of their own, and workers do not start: only root can", unknown,
		}},
	} {
		if tc.guards.users == "" {
			tc.guards.users = usersOff
		}
		var got []string
		for _, f := range ofModules(tc.guards) {
			got = append(got, string(f.Level)+" "+f.Found)
			if f.Level != OK && f.Do == "" {
				t.Errorf("%s: %s: nothing helps", name, f.Found)
			}
		}
		if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// On any machine, the report has its findings.
func TestTheReportSaysWhetherThisMachineKeepsModulesApart(t *testing.T) {
	t.Setenv(process.SandboxEnv, "")
	lines, _ := examined(t, time.Minute, Modules())
	report := strings.Join(lines, "\n")
	want := "read no credentials"
	if err := process.CanSandbox(); err != nil {
		want = err.Error()
	}
	if !strings.Contains(report, want) || strings.Contains(report, "It is root") != (os.Geteuid() == 0) {
		t.Errorf("want %q in\n%s", want, report)
	}
}

func TestTheReportSaysWhetherModulesHaveUsersOfTheirOwn(t *testing.T) {
	t.Setenv(process.UserEnv, "on")
	lines, _ := examined(t, time.Minute, Modules())
	want := "each process of a module has a user of its own: 60600-61099"
	if os.Geteuid() != 0 {
		want = "STOKER_MODULE_USER=on: only root can run modules under separate users"
	}
	if report := strings.Join(lines, "\n"); !strings.Contains(report, want) {
		t.Errorf("want %q in\n%s", want, report)
	}
}

func TestTheReportSaysThatTheSandboxIsSwitchedOff(t *testing.T) {
	t.Setenv(process.SandboxEnv, "off")
	lines, _ := examined(t, time.Minute, Modules())
	if report := strings.Join(lines, "\n"); !strings.Contains(report, "STOKER_MODULE_SANDBOX=off") || strings.Contains(report, "read no credentials") {
		t.Errorf("want STOKER_MODULE_SANDBOX=off in\n%s", report)
	}
}

func TestGVisorIsRecognizedByItsVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016": true,
		"Linux version 4.19.0-gvisor":                             true,
		"Linux version 6.12.1 (gcc 14.2.0) #1 SMP PREEMPT":        false,
		"": false,
	} {
		if got := isGVisor(version); got != want {
			t.Errorf("%q: %t, want %t", version, got, want)
		}
	}
}
