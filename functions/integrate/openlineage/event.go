package openlineage

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Event is an OpenLineage run event.
type Event struct {
	Type      State     `json:"eventType"`
	Time      time.Time `json:"eventTime"`
	Run       Run       `json:"run"`
	Job       Job       `json:"job"`
	Inputs    []Dataset `json:"inputs"`
	Outputs   []Dataset `json:"outputs"`
	Producer  string    `json:"producer"`
	SchemaURL string    `json:"schemaURL"`
}

// State is the state of a run.
type State string

// The states that are sent. A run has one START, and at most one of the last three.
const (
	Start    State = "START"
	Running  State = "RUNNING"
	Complete State = "COMPLETE"
	Fail     State = "FAIL"
	Abort    State = "ABORT" // cancelled
)

// Run is one pass of a Job.
type Run struct {
	ID     string         `json:"runId"` // UUID v5 of function, pipeline, run and salt: see RunID
	Facets map[string]any `json:"facets,omitempty"`
}

// Job is what runs repeatedly: a pipeline's training, say.
type Job struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"` // <pipeline>.train, <pipeline>.tune or <pipeline>.trial
	Facets    map[string]any `json:"facets,omitempty"`
}

// Dataset is an input or an output of a run: OpenLineage's name for an artifact, models too.
type Dataset struct {
	Namespace string         `json:"namespace"` // s3://<bucket>
	Name      string         `json:"name"`      // the key
	Facets    map[string]any `json:"facets,omitempty"`
}

// Schemas and documentation of the events.
const (
	producer  = "https://github.com/stoker-ml/stoker"
	specURL   = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
	facetsURL = "https://openlineage.io/spec/facets/"
	ownURL    = "https://raw.githubusercontent.com/stoker-ml/stoker/main/functions/integrate/openlineage/facets.v1.json#/$defs/"
)

// RunID is the id of a run of a function, on any machine at any time. A training that was forced in
// the same run has a salt, and is another.
func RunID(f events.Function, pipeline, run, salt string) string {
	return runID(string(f), pipeline, run, salt)
}

func runID(parts ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(producer+"/"+events.DerivedID(parts...))).String()
}

// facet is what every facet has, and its own members.
func facet(schema string, members map[string]any) map[string]any {
	members["_producer"], members["_schemaURL"] = producer, schema
	return members
}

// datasetOf is an artifact as a dataset, its content as the version.
func datasetOf(kind, uri, digest string) (Dataset, bool) {
	ref, err := storage.ParseRef(uri)
	if err != nil {
		return Dataset{}, false
	}
	d := Dataset{Namespace: "s3://" + ref.Bucket, Name: strings.TrimSuffix(ref.Key, "/"), Facets: map[string]any{
		"datasetType": facet(facetsURL+"1-0-1/DatasetTypeDatasetFacet.json#/$defs/DatasetTypeDatasetFacet", map[string]any{
			"datasetType": datasetType(kind), "subType": kind,
		}),
	}}
	if d.Name == "" {
		d.Name = "/"
	}
	if digest != "" {
		d.Facets["version"] = facet(facetsURL+"1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet",
			map[string]any{"datasetVersion": digest})
	}
	return d, true
}

func datasetType(kind string) string {
	if kind == "Model" {
		return "MODEL"
	}
	return "FILE"
}

// datasets are the artifacts that a run read.
func datasets(all []events.Artifact) []Dataset {
	found := []Dataset{}
	for _, a := range all {
		if d, ok := datasetOf(a.Type, a.URI, a.Digest); ok {
			found = append(found, d)
		}
	}
	return found
}
