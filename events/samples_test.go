package events

import "time"

// samples returns valid data of every kind, with as many members as possible.
func samples() map[Kind]Data {
	score, yes := 0.125, true
	examples := []Examples{
		{URI: "s3://tfx-data/penguin/examples/1", Splits: []string{"train", "eval"}, Span: 3, Version: 1, FileFormat: FileTFRecordsGzip, PayloadFormat: PayloadExample},
		{URI: "s3://tfx-data/penguin/examples/2/", FileFormat: FileTFRecords, CustomSplitPattern: map[string]string{"train": "day-[0-5]/*", "eval": "day-6/part-?"}},
		{URI: "s3://tfx-data/penguin/examples/3", FileFormat: FileFormatRecordsGzip},
	}
	const digest = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	failed := Failed{
		Reason: FailureModule, Message: "ValueError: no such feature", LogTail: "Traceback\n", Log: "s3://logs/penguin/1.log", Attempt: 2, Execution: digest,
	}
	return map[Kind]Data{
		KindExamplesReady: &ExamplesReady{
			Examples: examples, Schema: "s3://tfx-data/schema.pbtxt", Statistics: "s3://tfx-data/stats", Request: Request{PipelineSpec: []byte(`{"pipeline":"penguin"}`), Force: true},
		},
		KindTransformReady: &TransformReady{
			TransformGraph: "s3://tfx-data/graph", TransformedExamples: examples, Examples: examples[:1], Schema: "s3://tfx-data/schema",
			Statistics: "s3://tfx-data/stats",
		},
		KindHParamsReady: &HParamsReady{
			Hyperparameters: "s3://tfx-data/best", Values: map[string]any{"units": 8.0, "act": "relu"}, Score: &score, Objective: "val_loss", Study: "s1", Reused: true,
			Execution: digest, Generation: 2, Salt: "again", Cached: true,
		},
		KindModelBlessed: &ModelBlessed{Model: "s3://models/penguin/1", Blessed: &yes, Blessing: "s3://models/blessing/1"},
		KindModelTrained: &ModelTrained{
			Model:    Model{URI: "s3://models/penguin/1", Digest: digest, Formats: []string{"Format-Serving"}},
			ModelRun: "s3://models/penguin/run", EvalModel: "s3://models/penguin/eval", Execution: digest, Generation: 1, Cached: true,
			Metrics: map[string]float64{"accuracy": 0.98}, Inputs: []Artifact{{Type: "Examples", URI: "s3://tfx-data/x", Digest: digest}},
			Hyperparameters: map[string]any{"units": 8.0}, Module: digest, BaseModel: "s3://models/penguin/0",
			Skew: &Skew{Rows: 100, MaxAbs: 1e-7, Tolerance: 1e-5, Raw: true, By: []string{"go"}, Note: "not asked by tensorflow"}, Started: at, Finished: at.Add(time.Minute), Attempts: 1,
		},
		KindTrainingFailed: &TrainingFailed{Failed: failed},
		KindTuningFailed:   &TuningFailed{failed},
	}
}

func sampleEvent(kind Kind) Event {
	return Event{
		ID: "id-1", Source: "/upstream/gen", Pipeline: "penguin", Run: "2026-11-21T10:00 ä%", Time: time.Date(2026, 11, 21, 10, 0, 0, 123000000, time.UTC),
		Causation: "id-0", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Data: samples()[kind],
	}
}

func sampleJob() Job {
	return Job{
		ID: "0af7651916cd43dd", Function: FunctionTrain, Class: "gpu-large", Pipeline: "penguin", Revision: 3, Spec: []byte(`{"pipeline":"penguin"}`), Run: "run 1",
		Inputs: Inputs{Examples: []Examples{{URI: "s3://tfx-data/examples"}}, Schema: "s3://tfx-data/schema", BaseModel: "s3://models/0"},
		Causes: []Cause{{Kind: KindExamplesReady, Source: "/gen", ID: "id-1", Sequence: 7}},

		Generation: 1, Salt: "forced-1", Request: "dead-3",

		Created: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
	}
}
