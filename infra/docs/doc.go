// Package docs checks what its pages say: files of pipelines are valid, tables are complete,
// commands have the flags that are shown, and what is named is there. It generates the reference
// parts of pipeline.md and cli.md.
package docs

//go:generate go test -run IsCurrent$ -update .
