// Package storagetest has helpers for tests of storage: Run, the suite that every storage.Store
// must pass; Memory, a Store for fast tests; Faulty, a Store that fails as planned. Read Run first.
package storagetest
