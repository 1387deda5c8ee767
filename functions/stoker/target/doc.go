// Package target finds the Stoker that a command uses: its bus, its store and the place of its
// artifacts, from settings or from the local stack that runs on a folder; and gives advice if one
// of them does not answer. Read Find first.
package target
