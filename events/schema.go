package events

import (
	"embed"
	"fmt"
)

//go:generate go test -run ^TestSchemasAreThoseOfTheTypes$ -update .
//go:generate go test -run ^TestWhatEarlierVersionsWroteIsRead$ -freeze .

//go:embed schema/*.json schema/asyncapi.yaml
var schemas embed.FS

// Schema returns the JSON Schema (2020-12) of the data of a kind of event, generated from its Go
// type; nil for an unknown kind.
func Schema(kind Kind) []byte { return schemaFile(string(kind)) }

// JobSchema returns the JSON Schema of a Job.
func JobSchema() []byte { return schemaFile("job") }

// DeadLetterSchema returns the JSON Schema of a DeadLetter.
func DeadLetterSchema() []byte { return schemaFile("dead-letter") }

// AsyncAPI returns the AsyncAPI 3 document of all messages of Stoker on the bus, in YAML.
func AsyncAPI() []byte { return readSchema("schema/asyncapi.yaml") }

func schemaFile(name string) []byte { return readSchema(fmt.Sprintf("schema/%s.v1.json", name)) }

func readSchema(path string) []byte {
	text, err := schemas.ReadFile(path)
	if err != nil {
		return nil
	}
	return text
}
