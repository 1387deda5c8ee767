// Package docs checks what the pages beside it say: files of pipelines are valid, tables are complete, commands have the flags that are
// shown, and what is named is there.
package docs
