package doctor

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/guest/process"
)

func TestWhatKeepsModulesApartIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		guards guards
		want   []string
	}{
		"all":             {guards{orphans: true}, []string{"ok they write to their own folders alone, and read no credentials (Landlock)"}},
		"an older kernel": {guards{orphans: true, lacks: []string{"files can be cut off"}}, []string{"warning modules write to their own folders alone and read no credentials, but files can be cut off"}},
		"none": {guards{sandbox: errors.New("no Landlock"), network: errors.New("no namespaces"), root: true}, []string{
			"warning a module reads what this user can, credentials among it, and can change what other jobs run: no Landlock",
			"warning what a module leaves running may outlive its job",
			"warning they can't be run without a network: no namespaces",
			"warning they run as root here, whom limits of processes do not hold",
		}},
	} {
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

// Whatever this machine has, the report says so.
func TestTheReportSaysWhetherThisMachineKeepsModulesApart(t *testing.T) {
	t.Parallel()
	lines, _ := told(t, time.Minute, Modules())
	report := strings.Join(lines, "\n")
	want := "read no credentials"
	if err := process.CanSandbox(); err != nil {
		want = err.Error()
	}
	if !strings.Contains(report, want) || strings.Contains(report, "as root") != (os.Geteuid() == 0) {
		t.Errorf("want %q in\n%s", want, report)
	}
}
