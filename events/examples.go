package events

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Payload returns the payload format of Examples, with the default.
func (e Examples) Payload() string {
	if e.PayloadFormat == "" {
		return PayloadExample
	}
	return e.PayloadFormat
}

func checkExamples(field string, list []Examples) error {
	for i, examples := range list {
		if err := examples.validate(); err != nil {
			return below(fmt.Sprintf("%s[%d]", field, i), err)
		}
	}
	return CheckPayloads(field, list)
}

// CheckPayloads returns an error unless all artifacts have one payload format, since a training
// reads all in the same way.
func CheckPayloads(field string, list []Examples) error {
	for i, examples := range list {
		if want := list[0].Payload(); examples.Payload() != want {
			return invalid(fmt.Sprintf("%s[%d].payload_format", field, i), want+", which the first artifact has", examples.Payload())
		}
	}
	return nil
}

func (e Examples) validate() error {
	return first(
		CheckURI("uri", e.URI),
		checkFolders("splits", e.Splits),
		checkCount("span", e.Span),
		checkCount("version", e.Version),
		checkOneOf("file_format", e.FileFormat, FileTFRecordsGzip, FileFormatRecordsGzip, FileTFRecords),
		checkOneOf("payload_format", e.PayloadFormat, PayloadExample, PayloadSequenceExample),
		checkPatterns("custom_split_pattern", e.CustomSplitPattern),
	)
}

var filesRE = regexp.MustCompile(filesPattern)

// checkPatterns returns an error for patterns that leave their artifact, or that TensorFlow and Go
// interpret differently.
func checkPatterns(field string, patterns map[string]string) error {
	for _, split := range slices.Sorted(maps.Keys(patterns)) {
		if !splitRE.MatchString(split) {
			return invalid(field, "names of splits made of letters, digits, _, . and -", split)
		}
		pattern := patterns[split]
		if _, err := path.Match(pattern, ""); err != nil || len(pattern) > maxSource || !filesRE.MatchString(pattern) || strings.Contains(pattern, "**") {
			return invalid(field+"."+split, `the pattern of files relative to the artifact, like subdir/train-* (no empty, "." or ".." element, no \, no **)`, pattern)
		}
	}
	return nil
}

// SplitNames returns the splits that the artifact is known to hold, sorted; none if it does not
// list them.
func (e Examples) SplitNames() []string {
	if len(e.CustomSplitPattern) > 0 {
		return slices.Sorted(maps.Keys(e.CustomSplitPattern))
	}
	return slices.Sorted(slices.Values(e.Splits))
}

// Has reports whether the artifact may hold a split: it lists it, or lists none.
func (e Examples) Has(split string) bool {
	names := e.SplitNames()
	return len(names) == 0 || slices.Contains(names, split)
}

// Files returns where a split's files are: a folder below the artifact, "" for the artifact itself,
// and the pattern that they match, relative to that folder; "" for all files in it.
func (e Examples) Files(split string) (folder, pattern string) {
	pattern, ok := e.CustomSplitPattern[split]
	if !ok {
		return "Split-" + split, ""
	}
	elements := strings.Split(pattern, "/")
	plain := 0
	for plain < len(elements)-1 && !strings.ContainsAny(elements[plain], "*?[") {
		plain++
	}
	return strings.Join(elements[:plain], "/"), strings.Join(elements[plain:], "/")
}
