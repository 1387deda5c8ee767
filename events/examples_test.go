package events

import (
	"strings"
	"testing"
)

func TestOneTrainingReadsOnePayloadFormat(t *testing.T) {
	t.Parallel()
	first, other := Examples{URI: "s3://abc/x"}, Examples{URI: "s3://abc/y", PayloadFormat: PayloadSequenceExample}
	err := (&ExamplesReady{Examples: []Examples{first, {URI: "s3://abc/z", PayloadFormat: PayloadExample}, other}}).Validate()
	const want = `examples[2].payload_format: expected FORMAT_TF_EXAMPLE, which the first artifact has, got "FORMAT_TF_SEQUENCE_EXAMPLE"`
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestFormatsThatAreNotReadAreNamedWithThoseThatAre(t *testing.T) {
	t.Parallel()
	for _, bad := range []struct{ examples, want string }{
		{`"payload_format": "FORMAT_PROTO"`, `payload_format: expected FORMAT_TF_EXAMPLE or FORMAT_TF_SEQUENCE_EXAMPLE, got "FORMAT_PROTO"`},
		{`"payload_format": "FORMAT_PARQUET"`, `payload_format: expected FORMAT_TF_EXAMPLE or FORMAT_TF_SEQUENCE_EXAMPLE, got "FORMAT_PARQUET"`},
		{`"file_format": "FILE_FORMAT_PARQUET"`, `file_format: expected tfrecords_gzip or FORMAT_TFRECORDS_GZIP or tfrecords, got "FILE_FORMAT_PARQUET"`},
		{`"file_format": "riegeli"`, `file_format: expected tfrecords_gzip or FORMAT_TFRECORDS_GZIP or tfrecords, got "riegeli"`},
		{`"custom_split_pattern": {"train": "a[b"}`, `custom_split_pattern.train: expected the pattern of files relative to the artifact`},
	} {
		_, err := decodeData(KindExamplesReady, `{"examples":[{"uri":"s3://abc/x",`+bad.examples+`}]}`)
		if err == nil || !strings.Contains(err.Error(), "data.examples[0]."+bad.want) {
			t.Errorf("%s: error is %v, want %s", bad.examples, err, bad.want)
		}
	}
}

func TestAPatternIsAFolderAndWhatIsInIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, folder, files string }{
		{"train-*", "", "train-*"}, {"a/b/train-*", "a/b", "train-*"}, {"a/?/c/*", "a", "?/c/*"}, {"a/one-file", "a", "one-file"}, {"[ab]/x", "", "[ab]/x"},
	} {
		e := Examples{CustomSplitPattern: map[string]string{"train": c.pattern}}
		if folder, files := e.Files("train"); folder != c.folder || files != c.files || !e.Has("train") || e.Has("eval") {
			t.Errorf("%s is %q in folder %q", c.pattern, files, folder)
		}
	}
	if folder, files := (Examples{}).Files("eval"); folder != "Split-eval" || files != "" {
		t.Errorf("no pattern is %q in folder %q", files, folder)
	}
}
