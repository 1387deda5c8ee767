package storage

import (
	"context"
	"time"
)

// Access says which server keeps the objects, and with which credentials it is used. The scheme of Endpoint
// selects the backend, see storage/backend.
type Access struct {
	Endpoint string // URL of the server, without a bucket
	Region   string // "": the backend's default
	RootCA   string // PEM file of the certificates that are trusted; "": the system's

	// The keys. If they and Credentials are empty, the backend looks where its own tools do.
	AccessKey, SecretKey, SessionToken string
	// Credentials returns keys if those above are empty. It is called again when they expire.
	Credentials func(context.Context) (Credentials, error)
}

// Credentials are keys that are valid until Expires, unless that is zero.
type Credentials struct {
	AccessKey, SecretKey, SessionToken string
	Expires                            time.Time
}
