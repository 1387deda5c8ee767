// Package filter is the language in which people select items of a list: runs, and the trials of a
// study. A Language names the fields that items have; Parse reads a filter of it. Read Parse first.
package filter
