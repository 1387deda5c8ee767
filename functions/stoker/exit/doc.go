// Package exit says with which status a command ends, for scripts: an error carries the one that it calls for, and Code finds it.
// Read Help first.
package exit
