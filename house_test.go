package stoker_test

import (
	"os"
	"testing"

	"github.com/stoker-ml/stoker/infra/house"
)

// learning is what a module trains with.
const learning = "compute/data/example compute/nn compute/nn/optim compute/train compute/tf/savedmodel compute/export"

// table is the map of the house. A new room or door is a line here, in the same commit, with its reason in the message.
var table = house.Table{
	Module: "github.com/stoker-ml/stoker",
	TopLevel: `functions events compute storage infra local
		go.mod go.sum Taskfile.yml staticcheck.conf README.md SECURITY.md LICENSE NOTICE changelog doc.go house_test.go readme_test.go
		.git .github .gitignore .editorconfig .ci`,
	Rooms: map[string]house.Room{
		".": {},

		"events":            {},
		"events/jetstream":  {Opens: "events"},
		"events/eventstest": {Opens: "events", TestHelp: true},

		"storage":              {},
		"storage/s3":           {Opens: "storage"},
		"storage/s3/miniotest": {TestHelp: true},
		"storage/storagetest":  {Opens: "storage", TestHelp: true},

		"compute/data/tfrecord":         {},
		"compute/data/example":          {Opens: "compute/data/tfrecord compute/data/example/schemapb"},
		"compute/data/example/schemapb": {},
		"compute/kernel":                {},
		"compute/nn":                    {Opens: "compute/kernel compute/nn/initializer compute/nn/optim compute/nn/plan"},
		"compute/nn/initializer":        {},
		"compute/nn/optim":              {Opens: "compute/kernel compute/nn/plan"}, // a step is said as a machine's updates
		"compute/nn/plan":               {Opens: "compute/kernel"},
		"compute/nn/plan/plantest":      {Opens: "compute/kernel compute/nn/plan", TestHelp: true}, // what every machine must pass
		"compute/nn/cuda":               {Opens: "compute/kernel compute/nn/plan", Tests: "compute/nn compute/nn/optim"},
		"compute/nn/cuda/driver":        {Opens: "compute/nn/cuda"},
		"compute/nn/cuda/fake":          {Opens: "compute/nn/cuda", TestHelp: true}, // a GPU that checks each call
		"compute/train":                 {Opens: "compute/nn compute/nn/optim compute/data/example compute/data/tfrecord", Tests: "compute/nn/plan"},
		"compute/tf/tensorbundle":       {Opens: "compute/data/tfrecord"},
		"compute/tf/warmstart":          {Opens: "compute/tf/tensorbundle compute/nn compute/tf/savedmodel", Tests: "compute/data/example"},
		"compute/tfevents":              {Opens: "compute/data/tfrecord"},
		"compute/tf/savedmodel":         {Opens: "compute/tf/tensorbundle compute/nn compute/data/example compute/tf/graph compute/tf/ops", Tests: "compute/data/tfrecord"},
		"compute/export/partition":      {Opens: "compute/nn"},
		"compute/export/onnx":           {Opens: "compute/export/partition compute/nn compute/export/onnx/onnxpb"},
		"compute/export/onnx/onnxpb":    {},
		"compute/export":                {Opens: "compute/export/partition compute/data/example compute/nn compute/export/onnx compute/tf/savedmodel compute/export/tflite compute/train"},
		"compute/export/tflite":         {Opens: "compute/nn", Tests: "compute/data/example compute/tf/savedmodel"},
		"compute/tf/tftest":             {TestHelp: true},
		"compute/tf/skew": {Opens: "compute/data/example compute/data/tfrecord compute/tf/savedmodel compute/tf/graph compute/tf/transform",
			Tests: "compute/export compute/nn compute/train"},
		"compute/data/schemagen":  {Opens: "compute/data/example compute/data/example/schemapb", Tests: "compute/data/tfrecord compute/tf/tftest"},
		"compute/data/examplegen": {Opens: "compute/data/example compute/data/tfrecord", Tests: "compute/tf/tftest"},
		"compute/tf/drift":        {Opens: "compute/data/example compute/tf/graph", Tests: "compute/tf/tftest"},
		"compute/tf/graph":        {Opens: "compute/tf/tensorbundle compute/data/tfrecord compute/tf/ops"},
		"compute/tf/graphtest":    {TestHelp: true}, // hostile graphs
		"compute/tf/ops":          {Opens: "compute/data/example"},
		"compute/tune":            {Opens: "compute/tune/space"},
		"compute/tune/bayes":      {Opens: "compute/tune/gp compute/tune/space"}, // what is worth trying next, of any search
		"compute/tune/gp":         {},
		"compute/tune/space":      {},
		"compute/tune/report":     {Opens: "compute/tune compute/tune/space compute/tfevents", Tests: "compute/tf/tftest"},
		"compute/tune/suggest":    {Opens: "compute/tune compute/tune/bayes compute/tune/space compute/tune/tpe"},
		"compute/tune/tpe":        {},
		"compute/tf/transform":    {Opens: "compute/data/example compute/tf/graph compute/tf/ops", Tests: "compute/data/tfrecord"},

		"functions/mask":                             {}, // what is a secret, wherever something is shown
		"functions/spelling":                         {}, // what was meant by an unknown word
		"functions/pipeline":                         {Opens: "functions/mask functions/module compute/tune functions/spelling"},
		"functions/module":                           {Opens: "compute/kernel compute/data/tfrecord compute/tune functions/spelling", Tests: "compute/tune/space"},
		"functions/module/modelcheck":                {Opens: "compute/tf/drift compute/export compute/tf/savedmodel compute/tf/skew compute/tf/graph"},
		"functions/module/modelcheck/modelchecktest": {Opens: "functions/guest functions/module/modelcheck", TestHelp: true},
		"functions/module/builtin":                   {Opens: "functions/module functions/module/modelcheck compute/tune compute/tune/space compute/tfevents compute/nn/initializer compute/tf/transform compute/tf/warmstart functions/spelling " + learning, Tests: "compute/tf/tensorbundle compute/kernel compute/nn/plan compute/data/tfrecord compute/tf/skew"},
		"functions/module/estimator":                 {Opens: "functions/module compute/nn/initializer compute/tf/warmstart compute/tfevents " + learning, Tests: "compute/data/tfrecord"},
		"functions/guest":                            {Opens: "functions/module functions/guest/process functions/guest/python functions/guest/snapshot", Tests: "compute/tf/tftest compute/export"},
		"functions/guest/process":                    {Opens: "functions/scratch"},
		"functions/guest/process/processtest":        {TestHelp: true},
		"functions/guest/python":                     {Opens: "functions/module"},
		"functions/guest/snapshot":                   {},
		"functions/scratch":                          {},
		"functions/tfxdsl":                           {Opens: "functions/pipeline", Tests: "functions/guest functions/guest/process"}, // TFX's pipelines, read
		"functions/settings":                         {},
		"functions/doctor":                           {Opens: "compute/kernel compute/data/tfrecord events events/jetstream functions/access functions/guest/process functions/guest/python storage"},
		"functions/access":                           {Opens: "events storage", Tests: "*"}, // each role's programs, at their whole work
		"functions/bridge":                           {Opens: "events functions/telemetry storage functions/spelling", Tests: "events/jetstream storage/s3"},
		"functions/bridge/endpoint":                  {Opens: "events", Tests: "events/eventstest"}, // the binding of HTTP, apart from buckets
		"functions/dispatch":                         {Opens: "events functions/pipeline functions/dispatch/join functions/telemetry", Tests: "events/jetstream"},
		"functions/dispatch/join":                    {Opens: "events functions/pipeline"},
		"functions/worker":                           {Opens: "events functions/telemetry"},
		"functions/notify":                           {Opens: "events", Tests: "events/jetstream"}, // tells those outside
		"functions/gc":                               {Opens: "events storage functions/dispatch functions/dispatch/join"},
		"functions/inspect": {Opens: "events storage functions/runs/result compute/tf/tensorbundle compute/data/example compute/data/example/schemapb compute/export/onnx compute/data/tfrecord " +
			"compute/tfevents compute/tf/graph compute/export/tflite compute/tf/transform"},
		"functions/openlineage": {Opens: "compute/tune events functions/dispatch functions/lineage functions/studies storage",
			Tests: "compute/tune/space events/eventstest"},
		"functions/reproduce": {Opens: "compute/tf/tensorbundle events functions/dispatch functions/lineage functions/pipeline functions/dispatch/join storage"},
		"functions/lineage":   {Opens: "compute/tune events functions/dispatch functions/runs/result functions/studies storage", Tests: "compute/tune/space"},
		"functions/replay":    {Opens: "events storage functions/dispatch/join functions/dispatch", Tests: "functions/pipeline"},
		"functions/group":     {Opens: "events"}, // several hosts, one model
		"functions/execution": {Opens: "events storage functions/telemetry functions/worker functions/pipeline functions/group functions/guest functions/module functions/module/modelcheck " +
			"functions/runs/result compute/data/example"},
		"functions/execution/trainer": {Opens: "events storage functions/execution functions/mask functions/worker functions/pipeline functions/guest functions/module functions/module/modelcheck " +
			"functions/runs/result compute/data/example compute/tf/skew compute/tf/warmstart",
			Tests: "compute/data/tfrecord compute/export compute/nn compute/tf/savedmodel compute/tf/graphtest functions/group functions/module/modelcheck/modelchecktest compute/export/onnx compute/tfevents functions/module/builtin"},
		"functions/execution/tuner": {Opens: "compute/tf/drift compute/tune compute/tune/space events functions/execution functions/guest functions/module functions/module/modelcheck functions/runs/result " +
			"functions/pipeline functions/studies functions/execution/tuner/oracle functions/execution/tuner/search functions/telemetry functions/worker storage", Tests: "functions/module/modelcheck/modelchecktest functions/dispatch/join functions/execution/tuner/oracle/oraclepb"},
		"functions/execution/tuner/search": {Opens: "compute/tune compute/tune/report compute/tune/space compute/tune/suggest events functions/guest functions/module functions/pipeline"},
		"functions/peer":                   {Tests: "functions/peer/peertest"}, // whose process is at the other end
		"functions/peer/peertest":          {TestHelp: true},
		"functions/execution/tuner/oracle": {Opens: "compute/tune compute/tune/space functions/peer functions/execution/tuner/oracle/oraclepb",
			Tests: "compute/tune/suggest compute/tf/tftest functions/guest functions/module"},
		"functions/execution/tuner/oracle/oraclepb": {},
		"functions/runs":        {Opens: "events functions/pipeline functions/dispatch/join"}, // the state of a run, for who shows it
		"functions/runs/result": {Opens: "compute/tf/drift compute/tune events storage"},      // what a manifest says of its execution
		"functions/runs/watch":  {Opens: "events functions/dispatch functions/dispatch/join functions/runs"},
		"functions/runs/follow": {Opens: "events functions/runs functions/runs/find functions/runs/submit", Tests: "events/eventstest functions/dispatch functions/pipeline"},
		"functions/runs/submit": {Opens: "events functions/dispatch functions/pipeline functions/dispatch/join functions/runs functions/runs/find",
			Tests: "events/eventstest"}, // what an event will do, for who publishes it
		"functions/runs/logs": {Opens: "events functions/runs functions/runs/find storage"},
		"functions/runs/find": {Opens: "events functions/dispatch functions/mask functions/pipeline functions/dispatch/join functions/replay functions/runs functions/studies storage",
			Tests: "events/eventstest"},
		"functions/telemetry":           {Opens: "events", Tests: "*"}, // whole runs are traced
		"functions/studies":             {Opens: "events compute/tune", Tests: "compute/tune/space events/eventstest"},
		"functions/studies/studiestest": {Opens: "events", TestHelp: true},
		"functions/console": {Opens: "compute/tfevents compute/tune compute/tune/report compute/tune/space events storage functions/dispatch " +
			"functions/lineage functions/mask functions/peer functions/pipeline functions/dispatch/join functions/replay functions/runs functions/runs/find functions/runs/submit functions/studies",
			Tests: "functions/peer/peertest"},
		"functions/stoker":      {Opens: "*"},
		"functions/stoker/exit": {Opens: "events storage", Tests: "events/jetstream"}, // which of their errors calls for which status
		"functions/stoker/stack": {Opens: "events events/jetstream storage storage/s3 local local/bucket functions/dispatch functions/bridge " +
			"functions/worker functions/execution functions/execution/trainer functions/execution/tuner functions/guest functions/scratch functions/telemetry", Tests: "*"},
		"functions/stoker/target":   {Opens: "events events/jetstream functions/settings functions/stoker/exit local storage storage/s3"},
		"functions/stoker/terminal": {Opens: "events functions/module functions/runs"},
		"functions/stoker-cuda":     {Opens: "compute/nn/cuda compute/nn/cuda/driver functions/module functions/module/builtin"},

		"local":                   {Opens: "local/bus local/bucket storage/s3"}, // servers alone
		"local/bus":               {},
		"local/bucket":            {Opens: "storage", Tests: "storage/s3"},
		"local/bucket/buckettest": {Opens: "local/bucket storage storage/s3", TestHelp: true},
		"local/demo":              {Opens: "events storage"},
		"local/examples/taxi":     {Opens: "functions/module functions/module/estimator compute/data/example", Tests: "functions/guest"},
		"local/examples/penguin":  {Opens: "functions/module compute/tune compute/tune/space " + learning},

		"infra/bench":         {Opens: "* compute/tf/tftest events/eventstest"},                // TensorFlow, to measure beside
		"infra/bench/quality": {Opens: "compute/tune compute/tune/space compute/tune/suggest"}, // of what is suggested
		"infra/chaos":         {TestHelp: true, Tests: "*"},
		"infra/chaos/history": {TestHelp: true}, // apart from what it checks
		"infra/frozen":        {TestHelp: true}, // formats that outlive a version
		"infra/cluster":       {TestHelp: true, Tests: "events events/jetstream functions/dispatch functions/pipeline functions/worker storage/s3"},
		"infra/hosts":         {TestHelp: true, Tests: "events events/jetstream functions/dispatch functions/pipeline infra/scale local/demo storage storage/s3"},
		"infra/house":         {TestHelp: true},
		"infra/licenses":      {}, // of what programs are linked from
		"infra/pages":         {TestHelp: true, Tests: "functions/guest functions/pipeline functions/tfxdsl infra/readme"},
		"infra/publishers":    {TestHelp: true, Tests: "events events/jetstream functions/access functions/bridge/endpoint"},
		"infra/publishers/go": {}, // what upstream copies
		"infra/readme":        {TestHelp: true},
		"infra/scale":         {TestHelp: true, Tests: "events events/jetstream functions/dispatch functions/pipeline local/demo storage"},
	},
	Tests: "local/bus local/bucket",
	Fences: []house.Fence{
		{Library: "github.com/nats-io/nats.go", Rooms: "events/jetstream infra/publishers/go infra/chaos/history infra/cluster infra/bench", Tests: "functions/stoker/stack local/bus infra/chaos infra/publishers functions/access"},
		{Library: "github.com/nats-io/nats-server", Rooms: "local/bus", Tests: "events/jetstream functions/access functions/stoker infra/publishers"}, // a server with permissions
		{Library: "github.com/cloudevents/sdk-go", Rooms: "events functions/bridge/endpoint infra/publishers/go", Tests: "events/jetstream"},          // the SDK's own NATS binding, to compare with
		{Library: "github.com/minio/minio-go", Rooms: "storage/s3", Tests: "functions/access local/bucket"},                                           // sets buckets' policies
		{Library: "github.com/aws/aws-sdk-go-v2/config", Rooms: "functions/settings"},                                                                 // profiles
		{Library: "github.com/versity/versitygw", Tests: "functions/access functions/bridge storage/s3"},                                              // as others run it
		{Library: "gorgonia.org/gorgonia", Rooms: "compute/nn compute/nn/plan", Tests: "compute/export"},                                              // as its users write models
		{Library: "gorgonia.org/tensor", Rooms: "compute/nn compute/nn/plan", Tests: "compute/export"},
		{Library: "github.com/chewxy/hm", Rooms: "compute/nn"},
		{Library: "gorgonia.org/cu", Rooms: "compute/nn/cuda/driver"}, // its init ends a process that finds no GPU: only a binary of its own may link it
		{Library: "github.com/wamuir/graft", Rooms: "compute/tf/tensorbundle compute/tfevents compute/tf/savedmodel compute/tf/skew compute/tf/warmstart compute/tf/graph " +
			"compute/tf/graphtest compute/tf/ops functions/inspect",
			Tests: "compute/data/example compute/tf/transform functions/module/builtin"},
		{Library: "github.com/parquet-go/parquet-go", Rooms: "compute/data/examplegen"},
		{Library: "github.com/google/flatbuffers", Rooms: "compute/export/tflite"},
		{Library: "github.com/goccy/go-yaml", Rooms: "functions/pipeline functions/settings functions/stoker functions/stoker/terminal functions/tfxdsl events/jetstream", Tests: "events functions/telemetry"},
		{Library: "github.com/spf13/cobra", Rooms: "functions/stoker"},
		{Library: "go.opentelemetry.io", Rooms: "functions/telemetry"},
		{Library: "github.com/prometheus", Rooms: "functions/telemetry"},
		{Library: "google.golang.org/grpc", Rooms: "functions/execution/tuner/oracle functions/execution/tuner/oracle/oraclepb", Tests: "functions/execution/tuner"},
	},
}

func TestTheHouseKeepsToItsMap(t *testing.T) {
	t.Parallel()
	faults, err := table.Faults(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}
