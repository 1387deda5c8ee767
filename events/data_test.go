package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// badData has invalid data of each kind: the fault, the JSON, and the field that the error must
// name. The schemas reject all of it too.
func badData() map[string]struct {
	kind  Kind
	json  string
	field string
} {
	const digest = `"sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"`
	type bad = struct {
		kind  Kind
		json  string
		field string
	}
	trained := func(change, to string) string {
		text, err := json.Marshal(samples()[KindModelTrained])
		if err != nil || !bytes.Contains(text, []byte(change)) {
			panic(change)
		}
		return strings.Replace(string(text), change, to, 1)
	}
	return map[string]bad{
		"no examples":          {KindExamplesReady, `{}`, "data.examples"},
		"empty examples":       {KindExamplesReady, `{"examples":[]}`, "data.examples"},
		"examples no list":     {KindExamplesReady, `{"examples":"s3://abc/x"}`, "data.examples"},
		"no uri":               {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x"},{}]}`, "data.examples[1].uri"},
		"uri no string":        {KindExamplesReady, `{"examples":[{"uri":7}]}`, "data.examples[0].uri"},
		"other scheme":         {KindExamplesReady, `{"examples":[{"uri":"gs://abc/x"}]}`, "data.examples[0].uri"},
		"no key":               {KindExamplesReady, `{"examples":[{"uri":"s3://abc"}]}`, "data.examples[0].uri"},
		"empty key":            {KindExamplesReady, `{"examples":[{"uri":"s3://abc/"}]}`, "data.examples[0].uri"},
		"upward":               {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x/../y"}]}`, "data.examples[0].uri"},
		"upward at the end":    {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x/.."}]}`, "data.examples[0].uri"},
		"dot element":          {KindExamplesReady, `{"examples":[{"uri":"s3://abc/./x"}]}`, "data.examples[0].uri"},
		"empty element":        {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x//y"}]}`, "data.examples[0].uri"},
		"control character":    {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x\ny"}]}`, "data.examples[0].uri"},
		"C1 control character": {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x\u0085y"}]}`, "data.examples[0].uri"},
		"bucket in capitals":   {KindExamplesReady, `{"examples":[{"uri":"s3://ABC/x"}]}`, "data.examples[0].uri"},
		"long uri":             {KindExamplesReady, `{"examples":[{"uri":"s3://abc/` + strings.Repeat("x", 1100) + `"}]}`, "data.examples[0].uri"},
		"empty split":          {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","splits":["train",""]}]}`, "data.examples[0].splits[1]"},
		"split with a slash":   {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","splits":["a/b"]}]}`, "data.examples[0].splits[0]"},
		"split no string":      {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","splits":[1]}]}`, "data.examples[0].splits[0]"},
		"negative span":        {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","span":-1}]}`, "data.examples[0].span"},
		"fraction of a span":   {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","span":1.5}]}`, "data.examples[0].span"},
		"parquet":              {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","payload_format":"FORMAT_PARQUET"}]}`, "data.examples[0].payload_format"},
		"protos":               {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","payload_format":"FORMAT_PROTO"}]}`, "data.examples[0].payload_format"},
		"file format":          {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","file_format":"riegeli"}]}`, "data.examples[0].file_format"},
		"pattern upward":       {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","custom_split_pattern":{"train":"a/../b"}}]}`, "data.examples[0].custom_split_pattern.train"},
		"pattern of the root":  {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","custom_split_pattern":{"train":"/a"}}]}`, "data.examples[0].custom_split_pattern.train"},
		"pattern of nothing":   {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","custom_split_pattern":{"train":""}}]}`, "data.examples[0].custom_split_pattern.train"},
		"pattern of all below": {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","custom_split_pattern":{"train":"a/**"}}]}`, "data.examples[0].custom_split_pattern.train"},
		"pattern of folders":   {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","custom_split_pattern":{"train":"a//b"}}]}`, "data.examples[0].custom_split_pattern.train"},
		"pattern quoted":       {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","custom_split_pattern":{"train":"a\\\\*"}}]}`, "data.examples[0].custom_split_pattern.train"},
		"pattern no string":    {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","custom_split_pattern":{"train":1}}]}`, "data.examples[0].custom_split_pattern.train"},
		"pattern of no split":  {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x","custom_split_pattern":{"a/b":"x"}}]}`, "data.examples[0].custom_split_pattern"},
		"bad schema":           {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x"}],"schema":"/schema.pbtxt"}`, "data.schema"},
		"bad statistics":       {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x"}],"statistics":"x"}`, "data.statistics"},
		"spec no object":       {KindExamplesReady, `{"examples":[{"uri":"s3://abc/x"}],"pipeline_spec":[1]}`, "data.pipeline_spec"},
		"data no object":       {KindExamplesReady, `[]`, "data"},

		"no graph":                  {KindTransformReady, `{"examples":[{"uri":"s3://abc/x"}]}`, "data.transform_graph"},
		"bad transformed examples":  {KindTransformReady, `{"transform_graph":"s3://abc/g","transformed_examples":[{"uri":"x"}]}`, "data.transformed_examples[0].uri"},
		"bad statistics of a graph": {KindTransformReady, `{"transform_graph":"s3://abc/g","statistics":"x"}`, "data.statistics"},
		"bad raw examples":          {KindTransformReady, `{"transform_graph":"s3://abc/g","examples":[{"uri":"x"}]}`, "data.examples[0].uri"},

		"no hyperparameters": {KindHParamsReady, `{"values":{"a":1}}`, "data.hyperparameters"},
		"score no number":    {KindHParamsReady, `{"hyperparameters":"s3://abc/h","score":"1"}`, "data.score"},
		"values no object":   {KindHParamsReady, `{"hyperparameters":"s3://abc/h","values":3}`, "data.values"},
		"reused no bool":     {KindHParamsReady, `{"hyperparameters":"s3://abc/h","reused":"yes"}`, "data.reused"},

		"no model":          {KindModelTrained, trained(`"uri":"s3://models/penguin/1"`, `"uri":""`), "data.model.uri"},
		"no formats":        {KindModelTrained, trained(`["Format-Serving"]`, `[]`), "data.model.formats"},
		"bad digest":        {KindModelTrained, trained(`"digest":`+digest, `"digest":"md5:1"`), "data.model.digest"},
		"bad execution":     {KindModelTrained, trained(`"execution":`+digest, `"execution":"1"`), "data.execution"},
		"no inputs":         {KindModelTrained, trained(`"inputs":[`, `"other":[`), "data.inputs"},
		"input without uri": {KindModelTrained, trained(`"uri":"s3://tfx-data/x",`, ``), "data.inputs[0].uri"},
		"no module":         {KindModelTrained, trained(`"module":`+digest, `"module":""`), "data.module"},
		"negative attempts": {KindModelTrained, trained(`"attempts":1`, `"attempts":-1`), "data.attempts"},
		"metric no number":  {KindModelTrained, trained(`"accuracy":0.98`, `"accuracy":"high"`), "data.metrics.accuracy"},

		"unknown failure":  {KindTrainingFailed, `{"kind":"bad luck","message":"x","attempt":1}`, "data.kind"},
		"no kind":          {KindTuningFailed, `{"message":"x","attempt":1}`, "data.kind"},
		"no message":       {KindTrainingFailed, `{"kind":"input","attempt":1}`, "data.message"},
		"attempt no count": {KindTrainingFailed, `{"kind":"input","message":"x","attempt":true}`, "data.attempt"},
		"bad log":          {KindTuningFailed, `{"kind":"input","message":"x","log":"/tmp/log"}`, "data.log"},
	}
}

func TestBadDataIsRefusedByFieldAndBySchema(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	for name, bad := range badData() {
		_, err := decodeData(bad.kind, bad.json)
		wantInvalid(t, name, err, bad.field)
		if schemas[bad.kind].Validate(instance(t, bad.json)) == nil {
			t.Errorf("%s: the schema takes %s", name, bad.json)
		}
	}
}

func TestSampleDataIsValidBySchemaAndByValidate(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	for kind, data := range samples() {
		if err := data.Validate(); err != nil || data.Kind() != kind {
			t.Errorf("%s (kind %s): %v", kind, data.Kind(), err)
		}
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas[kind].Validate(instance(t, string(text))); err != nil {
			t.Errorf("%s by its schema: %v", kind, err)
		}
	}
}

func TestFieldsOfNewerPublishersAreTolerated(t *testing.T) {
	t.Parallel()
	const newer = `{"examples":[{"uri":"s3://abc/x","compression":{"level":9}}],"priority":"high"}`
	event, err := decodeData(KindExamplesReady, newer)
	if err != nil || event.Data.(*ExamplesReady).Examples[0].URI != "s3://abc/x" {
		t.Errorf("got %+v, %v", event, err)
	}
	if err := compiled(t)[KindExamplesReady].Validate(instance(t, newer)); err != nil {
		t.Errorf("by the schema: %v", err)
	}
}

func TestNumbersThatJSONCannotHoldAreRefused(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	trained := samples()[KindModelTrained].(*ModelTrained)
	trained.Metrics = map[string]float64{"a": 1, "loss": nan}
	wantInvalid(t, "metric", trained.Validate(), "metrics.loss")
	trained = samples()[KindModelTrained].(*ModelTrained)
	trained.Skew.MaxAbs = inf
	wantInvalid(t, "skew", trained.Validate(), "skew.max_abs")
	blessed := samples()[KindModelBlessed].(*ModelBlessed)
	blessed.Blessed = nil
	wantInvalid(t, "blessed", blessed.Validate(), "blessed")
	hparams := samples()[KindHParamsReady].(*HParamsReady)
	hparams.Score = &nan
	wantInvalid(t, "score", hparams.Validate(), "score")
	hparams = samples()[KindHParamsReady].(*HParamsReady)
	hparams.Values["rate"] = inf
	wantInvalid(t, "value", hparams.Validate(), "values.rate")
}

func TestJobsAreCheckedByFieldAndBySchema(t *testing.T) {
	t.Parallel()
	schema := compile(t, JobSchema())
	good, err := json.Marshal(sampleJob())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeJob(good); err != nil {
		t.Errorf("the sample: %v", err)
	}
	if err := schema.Validate(instance(t, string(good))); err != nil {
		t.Errorf("the sample by its schema: %v", err)
	}
	for name, bad := range map[string]struct{ change, to, field string }{
		"id":       {`"id":"0af7651916cd43dd"`, `"id":"a.b"`, "id"},
		"function": {`"train"`, `"bake"`, "function"},
		"class":    {`"gpu-large"`, `"GPU"`, "class"},
		"pipeline": {`"pipeline":"penguin","revision"`, `"pipeline":"","revision"`, "pipeline"},
		"run":      {`"run":"run 1"`, `"run":""`, "run"},
		"spec":     {`{"pipeline":"penguin"}`, `"yaml"`, "spec"},
		"revision": {`"revision":3`, `"revision":-3`, "revision"},
		"input":    {`"s3://models/0"`, `"latest"`, "inputs.base_model"},
		"causes":   {`"causes":[`, `"others":[`, "causes"},
		"cause":    {`"kind":"examples.ready"`, `"kind":"examples.gone"`, "causes[0].kind"},
	} {
		text := strings.Replace(string(good), bad.change, bad.to, 1)
		if text == string(good) {
			t.Fatalf("%s: nothing to change", name)
		}
		_, err := DecodeJob([]byte(text))
		wantInvalid(t, name, err, bad.field)
		if schema.Validate(instance(t, text)) == nil {
			t.Errorf("%s: the schema takes %s", name, text)
		}
	}
	if _, err := DecodeJob([]byte(`{"id":`)); err == nil || !strings.Contains(err.Error(), "JSON") {
		t.Errorf("cut off: %v", err)
	}
}

func TestDeadLettersFitTheirSchema(t *testing.T) {
	t.Parallel()
	deadLetter := DeadLetter{Message: Message{Stream: "EVENTS", Sequence: 3, Subject: "events.x", Body: []byte{0, 255}}, Reason: DeadReason{Kind: FailureInput, Message: "bad", Field: "run"}}
	text, err := json.Marshal(deadLetter)
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t, DeadLetterSchema())
	if err := schema.Validate(instance(t, string(text))); err != nil {
		t.Error(err)
	}
	if schema.Validate(instance(t, `{"message":{}}`)) == nil {
		t.Error("takes a letter without anything in it")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "9", "penguin", "taxi-2", "a--", strings.Repeat("x", 63)} {
		if err := CheckName("subject", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-a", "A", "a.b", "a b", "a_b", "ä", "a\n", strings.Repeat("x", 64)} {
		wantInvalid(t, name, CheckName("subject", name), "subject")
	}
}

// A class is the value of a label of Kubernetes, and the end of a name.
func TestClasses(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"a", "9", "gpu", "gpu-a100", "a--b", strings.Repeat("x", 21)} {
		if err := CheckClass("class", class); err != nil {
			t.Errorf("%q: %v", class, err)
		}
	}
	for _, class := range []string{"", "-a", "gpu-", "-", "A", "a.b", "a b", "a_b", "ä", "a\n", strings.Repeat("x", 22)} {
		wantInvalid(t, class, CheckClass("class", class), "class")
	}
}

func TestErrorsRepeatOnlyALittleOfWhatWasThere(t *testing.T) {
	t.Parallel()
	err := CheckName("subject", strings.Repeat("ä\x00", 4000))
	if text := err.Error(); len(text) > 600 || strings.Contains(text, "\x00") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func decodeData(kind Kind, data string) (Event, error) {
	return Decode(map[string][]string{
		"ce-specversion": {"1.0"}, "ce-type": {kind.Type()}, "ce-id": {"1"}, "ce-source": {"/gen"}, "ce-subject": {"penguin"}, "ce-run": {"r"},
	}, []byte(data))
}

func wantInvalid(t *testing.T, name string, err error, field string) {
	t.Helper()
	invalid, ok := errors.AsType[*Invalid](err)
	if !ok || invalid.Field != field || invalid.Expected == "" {
		t.Errorf("%s: got %v, want an *Invalid that names %q and what was expected", name, err, field)
	}
}

func compiled(t *testing.T) map[Kind]*jsonschema.Schema {
	t.Helper()
	schemas := map[Kind]*jsonschema.Schema{}
	for _, kind := range Kinds() {
		schemas[kind] = compile(t, Schema(kind))
	}
	return schemas
}

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", instance(t, string(text))); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func instance(t *testing.T, text string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}
