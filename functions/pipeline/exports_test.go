package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestAnExportIsAWordUnlessItIsRequired(t *testing.T) {
	t.Parallel()
	p := parse(t, "pipeline: p\nmodule: m.py\ntrainer: {exports: [onnx, {format: tflite, required: true}, {format: tflite-int8}]}\n")
	want := []pipeline.Export{{Format: "onnx"}, {Format: "tflite", Required: true}, {Format: "tflite-int8"}}
	if !slices.Equal(p.Trainer.Exports, want) {
		t.Errorf("exports are %v, want %v", p.Trainer.Exports, want)
	}
	text, err := p.JSON()
	if err != nil || !strings.Contains(string(text), `"exports":["onnx",{"format":"tflite","required":"on"},"tflite-int8"]`) {
		t.Errorf("JSON is %s, %v", text, err)
	}
	again, err := pipeline.FromJSON(text)
	if err != nil || !slices.Equal(again.Trainer.Exports, want) {
		t.Errorf("read again %v, %v", again.Trainer.Exports, err)
	}
}

func TestABadExportIsNamed(t *testing.T) {
	t.Parallel()
	for exports, want := range map[string]string{
		"[{format: tflit}]":                   `p.yaml:3:21: trainer.exports[0]: expected one of tflite, tflite-float16, tflite-int8, onnx, got "tflit"; did you mean tflite?`,
		"[onnx, {format: onnx}]":              `p.yaml:3:27: trainer.exports[1]: onnx is listed twice`,
		"[{required: true}]":                  `p.yaml:3:21: trainer.exports[0]: expected one of tflite, tflite-float16, tflite-int8, onnx, got ""`,
		"[{format: onnx, need: 1}]":           `p.yaml:3:36: trainer.exports[0].need: unknown key: expected one of format, required`,
		"[[onnx]]":                            `p.yaml:3:21: trainer.exports[0]: expected a format, or a mapping like {format: tflite, required: true}, got a list`,
		"[{format: onnx, required: perhaps}]": `p.yaml:3:36: trainer.exports[0].required: expected on or off, got "perhaps"`,
	} {
		_, err := pipeline.Parse("p.yaml", []byte("pipeline: p\nmodule: m.py\ntrainer: {exports: "+exports+"}\n"))
		if err == nil || err.Error() != want {
			t.Errorf("%s: error is\n%v\nwant\n%s", exports, err, want)
		}
	}
}
