package cuda

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// entry is a kernel in PTX, with its parameters' types.
var entry = regexp.MustCompile(`(?s)\.visible \.entry (\w+)\((.*?)\)`)

var paramType = regexp.MustCompile(`\.param \.(\w+)`)

func TestTheTableSaysWhatThePTXHas(t *testing.T) {
	t.Parallel()
	types := map[ParamKind]string{PointerParam: "u64", IntParam: "u32", FloatParam: "f32", LongParam: "u64"}
	found := map[string][]string{}
	for _, e := range entry.FindAllStringSubmatch(ptx, -1) {
		found[e[1]] = nil
		for _, p := range paramType.FindAllStringSubmatch(e[2], -1) {
			found[e[1]] = append(found[e[1]], p[1])
		}
	}
	for _, k := range Kernels() {
		var want []string
		for _, kind := range k.Params {
			want = append(want, types[ParamKind(kind)])
		}
		have, known := found[k.Name]
		if !known {
			t.Errorf("kernel %s is not in the PTX", k.Name)
		}
		if strings.Join(have, " ") != strings.Join(want, " ") {
			t.Errorf("kernel %s takes %v in the PTX, %v by the table", k.Name, have, want)
		}
		delete(found, k.Name)
	}
	for name := range found {
		t.Errorf("kernel %s is not in the table", name)
	}
}

func TestThePTXIsForOlderDriversAndGPUs(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`(?m)^\.version (\S+)$`).FindStringSubmatch(ptx)
	if version == nil {
		t.Fatal("the PTX names no version")
	}
	if v, err := strconv.ParseFloat(version[1], 64); err != nil || v > 9.0 {
		t.Errorf("PTX %s: CUDA 13.0, whose drivers are of series 580, reads at most 9.0", version[1])
	}
	if !strings.Contains(ptx, "\n.target sm_75\n") {
		t.Error("the PTX is not for compute capability 7.5")
	}
}
