package storage

import (
	"encoding/json"
	"time"
)

// File is one file of an artifact.
type File struct {
	Path   string `json:"path"` // below the manifest's root, slash-separated, no "..", not absolute
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hex
	ETag   string `json:"etag"`   // as the store gave it
}

// Manifest says what one attempt at an execution left in the store. It is written after its files and before the commit.
type Manifest struct {
	Execution string            `json:"execution"`
	Attempt   string            `json:"attempt"`
	Outputs   map[string]Output `json:"outputs"`          // by TFX output key: model, model_run, ...
	Result    json.RawMessage   `json:"result,omitempty"` // what the function wants to find again on a cache hit; opaque here
}

// Output is one artifact of an execution.
type Output struct {
	Type   string `json:"type"`   // TFX's type name: Model, ModelRun
	URI    string `json:"uri"`    // the artifact's folder
	Digest string `json:"digest"` // sha256:<hex> over path, size and SHA-256 of its files, in path order
	Files  []File `json:"files"`
}

// Commit is the one object that makes an execution done. It is written once, by PutIf.
type Commit struct {
	Execution string    `json:"execution"`
	Attempt   string    `json:"attempt,omitempty"`
	Manifest  string    `json:"manifest,omitempty"` // address of the winner's manifest
	Cancelled bool      `json:"cancelled,omitempty"`
	Time      time.Time `json:"time"`
}
