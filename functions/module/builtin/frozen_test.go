package builtin_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

var (
	updateFrozen = flag.Bool("update", false, "write testdata/frozen.json anew for the instruction sets that this processor has")
	ownISA       = flag.Bool("own-isa", false, "train with the kernels of this process alone")
)

const frozenFile = "testdata/frozen.json"

// frozen has the digest of the weights by instruction set of the kernels and by model.
type frozen map[string]map[string]string

// frozenModels exercise the kernels: products, softmax, embeddings, sparse features, dropout, batch
// normalization and several optimizers.
var frozenModels = map[string]struct {
	module  string
	threads int
	config  map[string]any
}{
	"dnn, adam":           {"dnn", 1, map[string]any{"batch_size": 40, "hidden_units": []any{33, 17}, "activation": "relu", "optimizer": "adam"}},
	"dnn, two threads":    {"dnn", 2, map[string]any{"batch_size": 256, "hidden_units": []any{100, 70}, "activation": "tanh", "optimizer": "rmsprop"}},
	"dnn, regularised":    {"dnn", 1, map[string]any{"batch_size": 64, "hidden_units": []any{24}, "activation": "softplus", "dropout": 0.2, "batch_normalization": true, "l1": 0.001, "l2": 0.001, "optimizer": "adamw", "global_clip_norm": 1.0}},
	"wide_deep, crosses":  {"wide_deep", 1, map[string]any{"batch_size": 64, "hidden_units": []any{16, 8}, "crosses": []any{[]any{"trip_start_hour", "trip_start_day"}}, "learning_rate_schedule": map[string]any{"name": "CosineDecay", "decay_steps": 100}}},
	"linear, big batches": {"linear", 1, map[string]any{"batch_size": 500}},
}

// The same training gives the same bits on every x86-64 processor, Intel or AMD, with the same
// instruction set of the kernels: the digests of testdata/frozen.json were made on one machine and
// hold on all. Each instruction set that the processor has is tested in a separate process.
func TestWeightsAreTheSameBitsOnEveryMachine(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" || fuses() {
		t.Skip("the digests are those of x86-64; where Go may fuse products with sums, it rounds otherwise")
	}
	isas := []string{kernel.CurrentISA().String()}
	if *ownISA {
		checkFrozen(t, isas[0])
		return
	}
	for isa := kernel.Portable; isa < kernel.CurrentISA(); isa++ {
		isas = append(isas, isa.String())
	}
	for _, isa := range isas {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-own-isa", fmt.Sprintf("-update=%t", *updateFrozen))
		cmd.Env = append(os.Environ(), kernel.EnvISA+"="+isa)
		if said, err := cmd.CombinedOutput(); err != nil || bytes.Contains(said, []byte("no tests to run")) {
			t.Errorf("isa %s: %v\n%s", isa, err, said)
		}
	}
}

// fuses reports whether the compiler was allowed to fuse floating-point operations (GOAMD64=v3 or
// higher).
func fuses() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "GOAMD64" && s.Value > "v2" })
}

func checkFrozen(t *testing.T, isa string) {
	t.Helper()
	text, err := os.ReadFile(frozenFile)
	if err != nil {
		t.Fatal(err)
	}
	want, got := frozen{}, map[string]string{}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for name, model := range frozenModels {
		a := taxi(t)
		for key, value := range model.config {
			a.CustomConfig[key] = value
		}
		a.Module.Path, a.TrainSteps, a.CustomConfig["threads"] = "builtin:"+model.module, new(100), model.threads
		if model.module == "linear" {
			delete(a.CustomConfig, "hidden_units")
		}
		run(t, model.module, a)
		got[name] = weightsDigest(t, a.ServingModelDir)
	}
	if *updateFrozen {
		want[isa] = got
		text, err := json.MarshalIndent(want, "", "\t")
		if err == nil {
			err = os.WriteFile(frozenFile, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want[isa], got); diff != "" {
		t.Errorf("weights trained with the kernels of %s are other bits than where %s was made; if a change of the formulas was meant, run go test with -update\n-frozen +trained\n%s",
			isa, frozenFile, diff)
	}
}

// weightsDigest returns the SHA-256 of a model's float32 variables: names, shapes and bits.
func weightsDigest(t *testing.T, model string) string {
	t.Helper()
	weights, err := tensorbundle.Open(filepath.Join(model, "variables", "variables"))
	if err != nil {
		t.Fatal(err)
	}
	digest, floats := sha256.New(), 0
	for _, v := range weights.Variables() {
		values, exact, err := weights.Numbers(v.Key)
		if err != nil || !exact {
			continue // strings or integers
		}
		fmt.Fprintln(digest, v.Key, v.Shape)
		for _, value := range values {
			_ = binary.Write(digest, binary.LittleEndian, math.Float32bits(value))
		}
		floats += len(values)
	}
	if floats < 10 {
		t.Fatalf("%s has %d numbers", model, floats)
	}
	return fmt.Sprintf("%x", digest.Sum(nil))
}
