// Package stoker has no code, only checks of the whole repository: architecture_test.go holds the
// allowed imports, and readme_test.go runs the commands of the README and of the pages that
// continue it. infra/docs/contributing/architecture.md describes the packages. Areas:
//
//   - events: wire types, and the bus on NATS
//   - storage: types of artifacts, and the store on S3
//   - compute: machine learning on local directories; uses neither the store nor the bus
//   - functions: events in, artifacts and events out; functions/stoker is the one binary
//   - local: embedded servers for a laptop, demo data and example modules
//   - infra: deployment, benchmarks, and checks of the repository
package stoker
