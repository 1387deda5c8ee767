package stoker_test

import (
	"os"
	"testing"

	"github.com/stoker-ml/stoker/infra/archtest"
)

// learning lists the packages that every compiled-in module trains with.
const learning = "compute/data/example compute/nn compute/nn/optim compute/train compute/tf/savedmodel compute/export"

// rules are the project's architecture. A commit that adds a package or a dependency between
// packages adds it here, with the reason in its message.
var rules = archtest.Rules{
	Module: "github.com/stoker-ml/stoker",
	TopLevel: `functions events compute storage infra local
		go.mod go.sum Taskfile.yml staticcheck.conf README.md CONTRIBUTING.md SECURITY.md LICENSE NOTICE doc.go architecture_test.go readme_test.go
		.git .github .gitignore .editorconfig .ci`,
	Packages: map[string]archtest.Package{
		".": {},

		"events":           {},
		"events/jetstream": {Imports: "events"},
		"events/bustest":   {Imports: "events", TestOnly: true},

		"storage":              {},
		"storage/backend":      {Imports: "storage storage/s3"},
		"storage/s3":           {Imports: "storage"},
		"storage/s3/miniotest": {TestOnly: true},
		"storage/storagetest":  {Imports: "storage", TestOnly: true},

		"compute/data/tfrecord":         {},
		"compute/data/example":          {Imports: "compute/data/tfrecord compute/data/example/schemapb"},
		"compute/data/example/schemapb": {},
		"compute/fingerprint":           {},
		"compute/kernel":                {},
		"compute/nn":                    {Imports: "compute/fingerprint compute/kernel compute/nn/initializer compute/nn/optim compute/nn/plan"},
		// Gradients by Gorgonia.
		"compute/nn/autodiff":    {Imports: "compute/kernel compute/nn compute/nn/optim compute/nn/plan", TestImports: "compute/nn/initializer compute/tf/tftest"},
		"compute/nn/initializer": {},
		// A step is compiled to updates.
		"compute/nn/optim": {Imports: "compute/kernel compute/nn/plan"},
		"compute/nn/plan":  {Imports: "compute/kernel"},
		// The conformance suite of executors.
		"compute/nn/plan/plantest": {Imports: "compute/kernel compute/nn/plan", TestOnly: true},
		"compute/nn/cuda":          {Imports: "compute/kernel compute/nn/plan", TestImports: "compute/nn compute/nn/autodiff compute/nn/optim"},
		"compute/nn/cuda/driver":   {Imports: "compute/nn/cuda"},
		// A fake GPU that checks each call.
		"compute/nn/cuda/fake":       {Imports: "compute/nn/cuda", TestOnly: true},
		"compute/train":              {Imports: "compute/nn compute/nn/autodiff compute/nn/optim compute/data/example compute/data/tfrecord", TestImports: "compute/nn/plan"},
		"compute/tf/tensorbundle":    {Imports: "compute/tf/tensor compute/data/tfrecord"},
		"compute/tf/warmstart":       {Imports: "compute/tf/tensor compute/tf/tensorbundle compute/nn compute/tf/savedmodel", TestImports: "compute/data/example"},
		"compute/tfevents":           {Imports: "compute/data/tfrecord"},
		"compute/tf/savedmodel":      {Imports: "compute/fingerprint compute/tf/tensor compute/tf/tensorbundle compute/nn compute/data/example compute/tf/graph compute/tf/ops", TestImports: "compute/data/tfrecord"},
		"compute/export/partition":   {Imports: "compute/nn"},
		"compute/export/onnx":        {Imports: "compute/export/partition compute/nn compute/export/onnx/onnxpb"},
		"compute/export/onnx/onnxpb": {},
		"compute/export":             {Imports: "compute/export/partition compute/data/example compute/nn compute/export/onnx compute/tf/savedmodel compute/export/tflite compute/train", TestImports: "compute/nn/autodiff"},
		"compute/export/tflite":      {Imports: "compute/nn", TestImports: "compute/data/example compute/tf/savedmodel"},
		"compute/tf/tftest":          {TestOnly: true},
		"compute/tf/skew": {Imports: "compute/tf/tensor compute/data/example compute/data/tfrecord compute/tf/savedmodel compute/tf/graph compute/tf/transform",
			TestImports: "compute/export compute/nn compute/train"},
		"compute/data/schemagen":  {Imports: "compute/data/example compute/data/example/schemapb", TestImports: "compute/data/tfrecord compute/tf/tftest"},
		"compute/data/examplegen": {Imports: "compute/data/example compute/data/tfrecord", TestImports: "compute/tf/tftest"},
		"compute/tf/drift":        {Imports: "compute/data/example compute/tf/graph", TestImports: "compute/tf/tftest"},
		"compute/tf/graph":        {Imports: "compute/tf/tensor compute/tf/tensorbundle compute/data/tfrecord compute/tf/ops", TestImports: "compute/data/example"},
		"compute/tf/graphtest":    {TestOnly: true}, // hostile graphs
		"compute/tf/tensor":       {},
		"compute/tf/ops":          {Imports: "compute/fingerprint compute/tf/tensor compute/data/example"},
		"compute/tune":            {Imports: "compute/tune/space"},
		"compute/tune/bayes":      {Imports: "compute/tune/gp compute/tune/space"},
		"compute/tune/gp":         {},
		"compute/tune/space":      {},
		"compute/tune/report":     {Imports: "compute/tune compute/tune/space compute/tfevents", TestImports: "compute/tf/tftest"},
		"compute/tune/suggest":    {Imports: "compute/tune compute/tune/bayes compute/tune/space compute/tune/tpe"},
		"compute/tune/tpe":        {},
		"compute/tf/transform":    {Imports: "compute/tf/tensor compute/data/example compute/tf/graph compute/tf/ops", TestImports: "compute/data/tfrecord"},

		"functions/internal/mask":                    {}, // masks secrets in output
		"functions/internal/spelling":                {}, // suggestions for misspelled names
		"functions/internal/filter":                  {Imports: "functions/internal/spelling"},
		"functions/pipeline":                         {Imports: "events functions/internal/mask functions/module compute/tune functions/internal/spelling"},
		"functions/module":                           {Imports: "compute/kernel compute/data/tfrecord compute/tune functions/internal/spelling", TestImports: "compute/tune/space"},
		"functions/module/modelcheck":                {Imports: "compute/data/example compute/tf/drift compute/export compute/tf/savedmodel compute/tf/skew compute/tf/graph"},
		"functions/module/modelcheck/modelchecktest": {Imports: "functions/runner functions/module/modelcheck", TestOnly: true},
		"functions/module/builtin":                   {Imports: "functions/module functions/module/modelcheck functions/module/training compute/tune compute/tune/space compute/nn/autodiff compute/nn/initializer compute/tf/transform compute/tf/warmstart functions/internal/spelling " + learning, TestImports: "compute/tf/tensor compute/tfevents compute/tf/tensorbundle compute/kernel compute/nn/plan compute/data/tfrecord compute/tf/skew"},
		"functions/module/training":                  {Imports: "functions/module compute/data/example compute/nn compute/nn/optim compute/train compute/tfevents compute/tf/transform compute/tf/warmstart"},
		"functions/module/estimator":                 {Imports: "functions/module functions/module/training compute/nn/initializer compute/tf/transform compute/tf/warmstart " + learning, TestImports: "compute/tf/tensor compute/data/tfrecord"},
		"functions/runner":                           {Imports: "functions/module functions/runner/process functions/runner/python functions/runner/snapshot", TestImports: "compute/tf/tftest compute/export"},
		"functions/runner/process":                   {Imports: "functions/scratch"},
		"functions/runner/process/processtest":       {TestOnly: true},
		"functions/runner/python":                    {Imports: "functions/module"},
		"functions/runner/snapshot":                  {},
		"functions/scratch":                          {},
		// Reads TFX pipelines.
		"functions/pipeline/tfxdsl": {Imports: "functions/pipeline", TestImports: "functions/runner functions/runner/process"},
		"functions/settings":        {},
		"functions/admin/doctor":    {Imports: "compute/kernel compute/data/tfrecord events events/jetstream functions/admin/access functions/runner/process functions/runner/python storage"},
		// Tests run each role's programs.
		"functions/admin/access":     {Imports: "events storage", TestImports: "*"},
		"functions/integrate/bridge": {Imports: "events functions/runs/submit functions/telemetry storage functions/internal/spelling", TestImports: "events/bustest events/jetstream functions/dispatch functions/pipeline storage/s3"},
		// The HTTP binding of CloudEvents.
		"functions/integrate/bridge/endpoint": {Imports: "events functions/runs/submit", TestImports: "events/bustest functions/dispatch functions/pipeline"},
		"functions/dispatch":                  {Imports: "events functions/pipeline functions/dispatch/join functions/telemetry", TestImports: "events/jetstream"},
		"functions/dispatch/join":             {Imports: "events functions/pipeline"},
		"functions/worker":                    {Imports: "events functions/telemetry"},
		// Webhooks.
		"functions/integrate/notify": {Imports: "events", TestImports: "events/jetstream"},
		"functions/admin/gc":         {Imports: "events storage functions/dispatch/join functions/runs"},
		"functions/admin/inspect": {Imports: "events storage functions/runs/result compute/tf/tensorbundle compute/data/example compute/data/example/schemapb compute/export/onnx compute/data/tfrecord " +
			"compute/tfevents compute/tf/graph compute/export/tflite compute/tf/transform"},
		"functions/integrate/openlineage": {Imports: "compute/tune events functions/runs/lineage functions/runs functions/runs/studies storage",
			TestImports: "compute/tune/space events/bustest"},
		"functions/admin/reproduce": {Imports: "compute/tf/tensorbundle events functions/runs/lineage functions/pipeline functions/dispatch/join functions/runs storage", TestImports: "compute/tf/tensor"},
		"functions/runs/lineage":    {Imports: "compute/tune events functions/runs functions/runs/result functions/runs/studies storage", TestImports: "compute/tune/space functions/dispatch"},
		"functions/admin/replay":    {Imports: "events storage functions/dispatch/join functions/dispatch functions/runs", TestImports: "functions/pipeline"},
		// Several hosts train one model.
		"functions/runner/multihost": {Imports: "events", TestImports: "events/bustest events/jetstream infra/cluster local/natsserver"},
		"functions/execution": {Imports: "events storage functions/telemetry functions/worker functions/pipeline functions/runner/multihost functions/runner functions/module functions/module/modelcheck " +
			"functions/runs/result"},
		"functions/execution/trainer": {Imports: "events storage functions/execution functions/internal/mask functions/worker functions/pipeline functions/runner functions/module functions/module/modelcheck " +
			"functions/runs/result compute/tf/skew compute/tf/warmstart",
			TestImports: "compute/data/example compute/data/tfrecord compute/export compute/nn compute/tf/savedmodel compute/tf/graphtest events/bustest functions/runner/multihost functions/module/modelcheck/modelchecktest compute/export/onnx compute/tfevents functions/module/builtin"},
		"functions/execution/tuner": {Imports: "compute/tf/drift compute/tune compute/tune/space events functions/execution functions/runner functions/module functions/module/modelcheck functions/runs/result " +
			"functions/pipeline functions/runs/studies functions/execution/tuner/oracle functions/execution/tuner/search functions/telemetry functions/worker storage", TestImports: "functions/module/modelcheck/modelchecktest functions/dispatch/join functions/execution/tuner/oracle/oraclepb functions/module/builtin"},
		"functions/execution/tuner/search": {Imports: "compute/tune compute/tune/report compute/tune/space compute/tune/suggest events functions/runner functions/module functions/pipeline"},
		// The user at the other end of a connection.
		"functions/internal/peer":          {TestImports: "functions/internal/peer/peertest"},
		"functions/internal/peer/peertest": {TestOnly: true},
		"functions/execution/tuner/oracle": {Imports: "compute/tune compute/tune/space functions/internal/peer functions/execution/tuner/oracle/oraclepb",
			TestImports: "compute/tune/suggest compute/tf/tftest functions/runner functions/module"},
		"functions/execution/tuner/oracle/oraclepb": {},
		// The index of runs.
		"functions/runs": {Imports: "events functions/dispatch functions/dispatch/join functions/internal/mask functions/pipeline", TestImports: "events/bustest"},
		// Filters, orders and pages of runs.
		"functions/runs/list": {Imports: "functions/internal/filter functions/internal/mask functions/internal/spelling functions/runs"},
		// Workers, as they report themselves.
		"functions/runs/workers": {Imports: "events", TestImports: "events/bustest"},
		// What a manifest says of its execution.
		"functions/runs/result": {Imports: "compute/tf/drift compute/tune events storage"},
		"functions/runs/watch":  {Imports: "events functions/dispatch functions/dispatch/join functions/runs", TestImports: "events/bustest"},
		"functions/runs/follow": {Imports: "events functions/runs functions/runs/submit", TestImports: "events/bustest functions/dispatch functions/pipeline"},
		// Previews what an event will do.
		"functions/runs/submit": {Imports: "events functions/dispatch/join functions/pipeline functions/runs",
			TestImports: "events/bustest functions/dispatch functions/runs/query"},
		"functions/runs/logs": {Imports: "events functions/runs functions/runs/query storage"},
		"functions/runs/query": {Imports: "events functions/dispatch functions/internal/mask functions/pipeline functions/dispatch/join functions/admin/replay functions/runs functions/runs/studies storage",
			TestImports: "events/bustest"},
		// Tests trace whole runs.
		"functions/telemetry":                {Imports: "events", TestImports: "*"},
		"functions/runs/studies":             {Imports: "events compute/tune", TestImports: "compute/tune/space events/bustest"},
		"functions/runs/studies/studiestest": {Imports: "events", TestOnly: true},
		"functions/console/chart":            {Imports: "compute/tune compute/tune/report compute/tune/space functions/runs/lineage"},
		// What the console's first page shows of runs.
		"functions/console/cache":    {},
		"functions/console/overview": {Imports: "functions/admin/replay functions/internal/filter functions/internal/mask functions/runs functions/runs/workers", TestImports: "events functions/runs/list"},
		"functions/console/preview":  {Imports: "compute/tfevents functions/admin/inspect functions/internal/mask", TestImports: "compute/data/tfrecord"},
		"functions/console": {Imports: "compute/tfevents compute/tune compute/tune/report compute/tune/space events storage functions/admin/inspect functions/console/cache functions/console/chart functions/console/overview functions/console/preview functions/dispatch " +
			"functions/runs/lineage functions/internal/filter functions/internal/mask functions/internal/peer functions/internal/spelling functions/pipeline functions/dispatch/join functions/admin/replay functions/runs functions/runs/list functions/runs/submit functions/runs/studies functions/runs/workers",
			TestImports: "functions/internal/peer/peertest compute/data/tfrecord"},
		"functions/stoker": {Imports: "*"},
		"functions/stoker/app": {Imports: "compute/data/tfrecord compute/kernel events events/jetstream functions/admin/access functions/module " +
			"functions/admin/replay functions/runs functions/settings functions/internal/filter functions/internal/spelling " +
			"functions/stoker/exit functions/stoker/target functions/stoker/terminal functions/telemetry local storage " +
			"storage/backend"}, // what all commands share
		"functions/stoker/modules": {Imports: "functions/runner functions/runner/python functions/runner/snapshot functions/module functions/module/builtin " +
			"functions/settings functions/internal/spelling functions/stoker/app functions/stoker/exit",
			TestImports: "functions/stoker/terminal"}, // modules of pipelines: checked and run
		// Tables become Examples.
		"functions/stoker/table": {Imports: "compute/data/examplegen functions/runner functions/stoker/app functions/stoker/exit"},
		"functions/stoker/serve": {Imports: "events events/jetstream functions/admin/access functions/integrate/bridge functions/integrate/bridge/endpoint functions/console " +
			"functions/dispatch functions/execution functions/execution/trainer functions/execution/tuner functions/runner/multihost " +
			"functions/runner functions/integrate/notify functions/integrate/openlineage functions/internal/peer functions/runs/submit functions/runs/workers functions/scratch functions/settings " +
			"functions/stoker/app functions/stoker/exit functions/stoker/modules functions/stoker/stack " +
			"functions/stoker/terminal functions/telemetry functions/worker local storage"},
		"functions/stoker/publish": {Imports: "compute/data/examplegen events functions/admin/access functions/integrate/bridge functions/dispatch functions/runner/snapshot " +
			"functions/internal/mask functions/module functions/module/builtin functions/pipeline functions/runs " +
			"functions/runs/submit functions/internal/spelling functions/stoker/app functions/stoker/exit functions/stoker/model " +
			"functions/stoker/modules functions/stoker/run functions/stoker/table functions/stoker/terminal storage"},
		"functions/stoker/run": {Imports: "compute/tune/space events functions/admin/access functions/dispatch functions/admin/inspect functions/internal/mask " +
			"functions/admin/replay functions/runs functions/runs/list functions/runs/query functions/runs/follow functions/runs/logs " +
			"functions/runs/submit functions/runs/watch functions/runs/workers functions/internal/spelling functions/stoker/app functions/stoker/exit " +
			"functions/stoker/terminal",
			TestImports: "events/jetstream"},
		"functions/stoker/model": {Imports: "events functions/admin/access functions/runs/lineage functions/admin/reproduce functions/runs functions/stoker/app " +
			"functions/stoker/exit functions/stoker/run functions/stoker/serve functions/stoker/terminal storage"},
		"functions/stoker/study": {Imports: "compute/tune compute/tune/report compute/tune/space events functions/admin/access functions/runs functions/runs/query " +
			"functions/stoker/app functions/stoker/exit functions/stoker/terminal functions/runs/studies"},
		"functions/stoker/try": {Imports: "compute/data/examplegen compute/data/schemagen compute/export compute/tf/warmstart compute/tune " +
			"compute/tune/report events functions/admin/access functions/dispatch functions/execution/tuner " +
			"functions/execution/tuner/search functions/runner functions/admin/inspect functions/module " +
			"functions/module/modelcheck functions/pipeline functions/runs functions/stoker/app functions/stoker/exit " +
			"functions/stoker/modules functions/stoker/run functions/stoker/serve functions/stoker/stack " +
			"functions/stoker/study functions/stoker/table functions/stoker/terminal functions/pipeline/tfxdsl local/demo storage",
			TestImports: "compute/data/example compute/data/tfrecord"},
		"functions/stoker/admin": {Imports: "events events/jetstream functions/admin/access functions/dispatch functions/admin/doctor functions/admin/gc functions/runner " +
			"functions/runner/python functions/internal/filter functions/internal/mask functions/admin/replay functions/runs functions/runs/query functions/settings " +
			"functions/stoker/app functions/stoker/exit functions/stoker/modules functions/stoker/run " +
			"functions/stoker/terminal storage"},
		// Maps errors to exit statuses.
		"functions/stoker/exit": {Imports: "events storage", TestImports: "events/jetstream"},
		"functions/stoker/stack": {Imports: "events events/jetstream storage storage/s3 local local/bucket functions/dispatch functions/integrate/bridge functions/runs/submit " +
			"functions/worker functions/execution functions/execution/trainer functions/execution/tuner functions/runner functions/scratch functions/telemetry", TestImports: "*"},
		"functions/stoker/target":   {Imports: "events events/jetstream functions/settings functions/stoker/exit local storage"},
		"functions/stoker/terminal": {Imports: "events functions/module functions/runs"},
		"functions/stoker-cuda":     {Imports: "compute/nn/cuda compute/nn/cuda/driver functions/module functions/module/builtin"},

		// The embedded servers.
		"local":                   {Imports: "local/natsserver local/bucket storage"},
		"local/natsserver":        {},
		"local/bucket":            {Imports: "storage", TestImports: "storage/s3"},
		"local/bucket/buckettest": {Imports: "local/bucket storage storage/s3", TestOnly: true},
		"local/demo":              {Imports: "events storage"},
		"local/examples/taxi":     {Imports: "functions/module functions/module/estimator compute/data/example", TestImports: "functions/runner"},
		"local/examples/penguin":  {Imports: "functions/module compute/tune compute/tune/space " + learning},

		"infra/bench": {Imports: "* compute/tf/tftest"}, // TensorFlow, to compare with
		// Quality and cost of suggestions.
		"infra/bench/quality": {Imports: "compute/tune compute/tune/space compute/tune/suggest"},
		"infra/chaos":         {TestOnly: true, TestImports: "*"},
		"infra/chaos/history": {TestOnly: true}, // independent of the code that it checks
		"infra/compat":        {TestOnly: true}, // formats that outlive a version
		"infra/cluster":       {TestOnly: true, TestImports: "events events/jetstream functions/dispatch functions/pipeline functions/runs functions/worker storage/s3"},
		"infra/hosts":         {TestOnly: true, TestImports: "events events/jetstream functions/dispatch functions/pipeline infra/scale local/demo storage storage/s3"},
		"infra/archtest":      {TestOnly: true},
		"infra/archtest/arch": {Imports: "infra/archtest"},
		"infra/licenses":      {}, // licenses of linked modules
		"infra/docs":          {TestOnly: true, TestImports: "functions/module/builtin functions/runner functions/pipeline functions/pipeline/tfxdsl infra/readmetest"},
		"infra/publishers":    {TestOnly: true, TestImports: "events events/jetstream functions/admin/access functions/integrate/bridge/endpoint"},
		"infra/publishers/go": {}, // example for upstream
		"infra/readmetest":    {TestOnly: true},
		"infra/scale":         {TestOnly: true, TestImports: "events events/jetstream functions/dispatch functions/pipeline local/demo storage"},
	},
	TestImports: "local/natsserver local/bucket",
	Restricted: []archtest.Library{
		{Path: "github.com/nats-io/nats.go", Packages: "events/jetstream infra/publishers/go infra/chaos/history infra/cluster infra/bench", TestImports: "functions/stoker/stack local/natsserver infra/chaos infra/publishers functions/admin/access"},
		// Tests run a server with permissions.
		{Path: "github.com/nats-io/nats-server", Packages: "local/natsserver", TestImports: "events/jetstream functions/admin/access functions/stoker infra/publishers"},
		// The SDK's own NATS binding, to compare with.
		{Path: "github.com/cloudevents/sdk-go", Packages: "events functions/integrate/bridge/endpoint infra/publishers/go", TestImports: "events/jetstream"},
		// Sets buckets' policies.
		{Path: "github.com/minio/minio-go", Packages: "storage/s3", TestImports: "functions/admin/access local/bucket"},
		{Path: "github.com/aws/aws-sdk-go-v2/config", Packages: "functions/settings"}, // profiles
		// Tests run it as a third-party store.
		{Path: "github.com/versity/versitygw", TestImports: "functions/admin/access functions/integrate/bridge storage/s3"},
		// Tests write models as its users do.
		{Path: "gorgonia.org/gorgonia", Packages: "compute/nn/autodiff compute/nn/plan", TestImports: "compute/export"},
		{Path: "gorgonia.org/tensor", Packages: "compute/nn/autodiff compute/nn/plan", TestImports: "compute/export"},
		{Path: "github.com/chewxy/hm", Packages: "compute/nn/autodiff"},
		// Its init exits without a GPU: only a separate binary may link it.
		{Path: "gorgonia.org/cu", Packages: "compute/nn/cuda/driver"},
		{Path: "github.com/wamuir/graft", Packages: "compute/tf/tensor compute/tf/tensorbundle compute/tfevents compute/tf/savedmodel compute/tf/skew compute/tf/warmstart compute/tf/graph " +
			"compute/tf/graphtest compute/tf/ops functions/admin/inspect",
			TestImports: "compute/data/example compute/tf/transform functions/console/preview functions/module/builtin"},
		{Path: "github.com/parquet-go/parquet-go", Packages: "compute/data/examplegen"},
		{Path: "github.com/google/flatbuffers", Packages: "compute/export/tflite"},
		{Path: "github.com/goccy/go-yaml", Packages: "functions/pipeline functions/settings functions/stoker/terminal functions/pipeline/tfxdsl events/jetstream", TestImports: "events functions/stoker functions/telemetry infra/docs"},
		{Path: "github.com/spf13/cobra", Packages: "functions/stoker functions/stoker/app functions/stoker/modules functions/stoker/table functions/stoker/serve functions/stoker/publish functions/stoker/run functions/stoker/model functions/stoker/study functions/stoker/try functions/stoker/admin"},
		{Path: "go.opentelemetry.io", Packages: "functions/telemetry"},
		{Path: "github.com/prometheus", Packages: "functions/telemetry infra/bench"},
		{Path: "google.golang.org/grpc", Packages: "functions/execution/tuner/oracle functions/execution/tuner/oracle/oraclepb", TestImports: "functions/execution/tuner"},
	},
}

func TestTheCodeKeepsToItsArchitecture(t *testing.T) {
	t.Parallel()
	violations, err := rules.Violations(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations {
		t.Error(violation)
	}
}

// Code that handles some kinds of events says what holds for the others, so that the author
// of another kind finds each place that must change.
func TestEveryKindOfEventIsHandledWhereSomeAre(t *testing.T) {
	t.Parallel()
	kinds := archtest.Enum{Import: rules.Module + "/events", Dir: "events", Type: "Kind", Table: "kinds"}
	gaps, err := kinds.Gaps(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, gap := range gaps {
		t.Error(gap)
	}
}

func TestCommentsAreWrapped(t *testing.T) {
	t.Parallel()
	wide, err := archtest.WideComments(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range wide {
		t.Error(line)
	}
}
