// Package docs checks what its pages say: files of pipelines are valid, tables are complete,
// commands have the flags that are shown, and what is named is there.
package docs
