package trainer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

const maxSchema = 16 << 20 // bytes that a reader accepts

// manyFeatures returns a schema of one feature, a struct of some eight million features of two
// bytes each: parsed, it takes a hundred times its size.
func manyFeatures() []byte {
	inner := bytes.Repeat([]byte{0x0a, 0x00}, maxSchema/2-16) // features of the struct
	const feature, structDomain = 1, 29
	domain := protowire.AppendBytes(protowire.AppendTag(nil, structDomain, protowire.BytesType), inner)
	return protowire.AppendBytes(protowire.AppendTag(nil, feature, protowire.BytesType), domain)
}

// deepText returns a schema with as many nested messages as one file can hold.
func deepText() []byte {
	const open = "feature{struct_domain{"
	return []byte(strings.Repeat(open, maxSchema/len(open)))
}

// A schema that takes too much memory is refused on behalf of the check's process, and this
// process, the worker, allocates little for it. Other tests don't run meanwhile, because their
// memory would count.
func TestASchemaThatTakesTooMuchMemoryEndsWithItsCheck(t *testing.T) {
	const (
		little = 256       // MiB that the job's processes may use
		enough = 1024      // MiB; the race detector needs several times what the schema does
		spends = 128 << 20 // bytes that the worker may allocate to copy and hash the file
	)
	for name, tc := range map[string]struct {
		schema  []byte
		allowed int // MiB
		says    string
	}{
		"many features":  {manyFeatures(), little, "256.0 MiB allowed"},
		"nested deeply":  {deepText(), enough, "expected at most 1000000"},
		"a long word":    {[]byte("feature { type: " + strings.Repeat("A", maxSchema-1024) + " }"), enough, "invalid value for enum"},
		"larger than it": {bytes.Repeat([]byte(" "), maxSchema+1), enough, "longer than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, writesModel)
			b.put(t, "up/schema/schema.pbtxt", string(tc.schema))
			host, err := runner.New(runner.Options{Builtins: builtin.Digests(), Env: []string{childEnv + "=1"}})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			b.trainer = trainer.New(execution.New(b.store, host, execution.Options{Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir()}), trainer.Options{})
			j := job(t, "j1", "monday", spec+fmt.Sprintf("  resources: {memory: %dMiB}\n", tc.allowed))
			j.Inputs.Schema = "s3://stoker/up/schema"
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = b.handle(t, j, "a1")
			runtime.ReadMemStats(&after)
			if kindOf(err) != events.FailureInput || !strings.Contains(fmt.Sprint(err), tc.says) {
				t.Errorf("%.300v, want an input failure that says %q", err, tc.says)
			}
			if spent := after.TotalAlloc - before.TotalAlloc; spent > spends {
				t.Errorf("the worker allocated %d MiB, expected at most %d", spent>>20, spends>>20)
			}
			if length := len(fmt.Sprint(err)); length > 16<<10 {
				t.Errorf("a reason of %d bytes", length)
			}
		})
	}
}

// The worker does not read a schema that an event names: it relies on the answer of the check's
// process.
func TestASchemaIsReadByTheProcessOfTheCheck(t *testing.T) {
	t.Parallel()
	tooLarge := &runner.Error{Kind: runner.KindResources, Err: errors.New("used 5 GiB, 4 GiB allowed")}
	stopped := &runner.Error{Kind: runner.KindStopped, Err: errors.New("the worker is leaving")}
	for name, tc := range map[string]struct {
		answer modelcheck.Answer
		fails  *runner.Error
		want   events.FailureKind
		says   string
	}{
		"accepted":        {},
		"refused":         {modelcheck.Answer{Refused: "parse schema: no schema"}, nil, events.FailureInput, "no schema"},
		"over its memory": {modelcheck.Answer{}, tooLarge, events.FailureInput, "4 GiB allowed"},
		"stopped":         {modelcheck.Answer{}, stopped, events.FailureUnavailable, "leaving"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, writesModel)
			b.put(t, "up/schema/schema.pbtxt", "\xff no schema")
			asked := 0
			b.trainer = trainer.New(execution.New(b.store, answering{b.runner, func(q modelcheck.Question) (modelcheck.Answer, error) {
				if q.Schema == "" {
					return modelcheck.Answer{}, nil
				}
				asked++
				if tc.fails != nil {
					return modelcheck.Answer{}, tc.fails
				}
				return tc.answer, nil
			}}, execution.Options{Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir()}), trainer.Options{})
			j := job(t, "j1", "monday", spec)
			j.Inputs.Schema = "s3://stoker/up/schema"
			_, err := b.handle(t, j, "a1")
			if kindOf(err) != tc.want || tc.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), tc.says) {
				t.Errorf("%v, want a failure of kind %q that says %q", err, tc.want, tc.says)
			}
			if asked != 1 {
				t.Errorf("the check was asked for the schema %d times", asked)
			}
		})
	}
}

// answering is a runner in which a function answers the checks.
type answering struct {
	execution.Runner
	answer func(modelcheck.Question) (modelcheck.Answer, error)
}

func (g answering) Check(_ context.Context, question json.RawMessage, _ runner.Limits) (json.RawMessage, error) {
	var q modelcheck.Question
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	answer, err := g.answer(q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}
