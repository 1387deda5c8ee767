// Package list selects, sorts and pages runs: it has the language in which people filter them, the
// fields that they can be sorted by, and the cursors of pages. The console's list of runs and
// `stoker runs --where` use the same. It works on summaries that its caller has read. Read Parse
// first, then Order.
package list
