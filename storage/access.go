package storage

import (
	"context"
	"time"
)

// Access names the server that keeps the objects and the credentials for it. The scheme of Endpoint
// selects the backend (package storage/backend).
type Access struct {
	Endpoint string // URL of the server, without a bucket
	Region   string // "": the backend's default
	RootCA   string // PEM file of the certificates that are trusted; "": the system's

	// The keys. If they and Credentials are empty, the backend searches where its own tools do.
	AccessKey, SecretKey, SessionToken string
	// Credentials returns keys if those above are empty. It is called again when they expire.
	Credentials func(context.Context) (Credentials, error)
}

// Credentials are keys that are valid until Expires. A zero Expires means that they do not expire.
type Credentials struct {
	AccessKey, SecretKey, SessionToken string
	Expires                            time.Time
}
