// Package exit defines the exit statuses of commands, for scripts: an error carries its status, and
// Code finds it. Read Help first.
package exit
