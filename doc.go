// Package stoker holds no code, only the checks of the whole house: house_test.go has the table of rooms and doors, and
// readme_test.go runs the README's commands. START HERE in README.md leads through the rooms; in short:
//
//   - events: words on the wire, and the letterbox on NATS
//   - storage: words for artifacts, and the store on S3
//   - compute: learning, on local folders only; knows no bucket and no bus
//   - functions: the work, events in, artifacts and events out; functions/stoker is the one binary
//   - local: bus, store and functions in one process, and the example modules
//   - infra: what production and the house itself need
package stoker
