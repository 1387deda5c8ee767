// Package pages checks what the pages beside it say: files of pipelines are valid, tables are complete, commands do what is shown.
package pages
