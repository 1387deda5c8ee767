package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestVisibleGPUsAreThoseThatCUDAWouldSee(t *testing.T) {
	t.Parallel()
	machine := t.TempDir()
	for _, dir := range []string{"proc/driver/nvidia/gpus/0000:17:00.0", "proc/driver/nvidia/gpus/0000:65:00.0", "dev/nvidia0", "dev/nvidiactl"} {
		makeDir(t, machine, dir)
	}
	container := t.TempDir() // without the driver's folder
	makeDir(t, container, "dev/nvidia3")
	makeDir(t, container, "dev/nvidia-uvm")
	for name, test := range map[string]struct {
		env  map[string]string
		root string
		want string
	}{
		"a machine":                       {nil, machine, "0 1"},
		"a container":                     {nil, container, "0"},
		"a machine without":               {nil, t.TempDir(), ""},
		"the user names some":             {map[string]string{visibleEnv: "1, 0"}, machine, "1 0"},
		"the user names UUIDs":            {map[string]string{visibleEnv: "GPU-8932f937,MIG-GPU-1/0/0"}, t.TempDir(), "GPU-8932f937 MIG-GPU-1/0/0"},
		"CUDA stops at what is no device": {map[string]string{visibleEnv: "1,-1,0"}, machine, "1"},
		"the user hides all":              {map[string]string{visibleEnv: ""}, machine, ""},
		"the user hides all by a number":  {map[string]string{visibleEnv: "-1"}, machine, ""},
		"a scheduler hides all":           {map[string]string{visibleEnv: "NoDevFiles"}, machine, ""},
		"the runtime was given none":      {map[string]string{"NVIDIA_VISIBLE_DEVICES": "void"}, machine, ""},
		"the runtime was given all":       {map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}, machine, "0 1"},
	} {
		getenv := func(name string) (string, bool) { value, ok := test.env[name]; return value, ok }
		if got := strings.Join(visibleGPUs(getenv, test.root), " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func makeDir(t *testing.T, root, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestGPUsAreSharedOutOverSlots(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		devices string
		slots   int
		want    string
	}{
		{"", 2, "|"}, {"0", 1, "0"}, {"0", 3, "0|0|0"}, {"0 1", 3, "0|1|0"}, {"0 1 2 3", 1, "0 1 2 3"},
		{"0 1 2 3", 2, "0 1|2 3"}, {"0 1 2 3 4", 2, "0 1|2 3 4"}, {"a b", 2, "a|b"}, {"0", 0, "0"},
	} {
		var got []string
		for _, share := range shareGPUs(strings.Fields(test.devices), test.slots) {
			got = append(got, strings.Join(share, " "))
		}
		if text := strings.Join(got, "|"); text != test.want {
			t.Errorf("%q over %d slots: %s, want %s", test.devices, test.slots, text, test.want)
		}
	}
}

func FuzzSharesHoldEveryDeviceOnceWhereThereAreEnough(f *testing.F) {
	f.Add(8, 3)
	f.Fuzz(func(t *testing.T, devices, slots int) {
		devices, slots = 1+abs(devices)%64, 1+abs(slots)%64
		all := make([]string, devices)
		for i := range all {
			all[i] = strings.Repeat("x", i)
		}
		shares := shareGPUs(all, slots)
		for _, share := range shares {
			if len(share) == 0 {
				t.Errorf("%d devices over %d slots: a slot has none", devices, slots)
			}
		}
		if devices >= slots && !slices.Equal(slices.Concat(shares...), all) {
			t.Errorf("%d devices over %d slots: %v", devices, slots, shares)
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func TestJobsAtOnceHaveGPUsOfTheirOwn(t *testing.T) {
	t.Parallel()
	gpus := newSharesOf([]string{"0", "1"}, 2)
	first, second := gpus.take(), gpus.take()
	gpus.giveBack(first)
	third := gpus.take()
	env, own := map[string]string{}, map[string]string{visibleEnv: "7"}
	second.tell(env)
	second.tell(own)
	if first.devices[0] != third.devices[0] || env[visibleEnv] != "1" || own[visibleEnv] != "7" {
		t.Errorf("%v, then %v; told are %v and %v", first, third, env, own)
	}
	none := map[string]string{}
	newSharesOf(nil, 2).take().tell(none)
	if len(none) > 0 {
		t.Errorf("told without a device: %v", none)
	}
}
