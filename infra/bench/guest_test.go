package main

import (
	"os"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func TestTheMemoryOfAProcessIsItsShareAndItsOwn(t *testing.T) {
	t.Parallel()
	const rollup = "Rss: 100 kB\nPss:     3000 kB\nPss_Dirty: 7 kB\nPrivate_Clean:  500 kB\nPrivate_Dirty:  1500 kB\n"
	if pss, private := megabytesOf(rollup, "Pss:"), megabytesOf(rollup, "Private_Clean:", "Private_Dirty:"); pss != 3.072 || private != 2.048 {
		t.Errorf("pss %v MB, private %v MB", pss, private)
	}
	own, err := memoryOf(os.Getpid())
	if err != nil || own.private <= 0 || own.pss < own.private {
		t.Errorf("%+v, error %v", own, err)
	}
}

func TestAForkedModuleIsTimed(t *testing.T) {
	t.Parallel()
	b := bench{rounds: 1, log: t.Output()}
	figures, err := guestForked(t.Context(), b, tftest.Python(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		if f.Ours <= 0 {
			t.Errorf("%s: %v %s", f.Name, f.Ours, f.Unit)
		}
	}
}
