// Package target finds the Stoker that a command means: its bus, its store and where its artifacts go, from settings or from the local stack
// that runs on a folder; and says what may help where one of them does not answer. Read Find first.
package target
