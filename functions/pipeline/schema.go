package pipeline

import _ "embed"

//go:generate go test -run ^TestTheSchemaIsThatOfTheTypes$ -update .

//go:embed pipeline.v1.json
var schema []byte // never changed

// Schema is the JSON Schema (2020-12) of a pipeline file, made from Pipeline, for editors: a first line
// `# yaml-language-server: $schema=<its path>` gives completion. Parse says more than it does.
func Schema() []byte { return append([]byte(nil), schema...) }
