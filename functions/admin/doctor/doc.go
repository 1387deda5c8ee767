// Package doctor checks a deployment, and reports what was checked, what was found, and what to do.
//
// A Check checks one thing and leaves no changes. Examine runs many concurrently and returns their
// findings in order. The checks of the bus, the store, this machine and Python are here, as
// functions that return a Check; other packages have more (permissions: functions/admin/access).
// Read Check first.
package doctor
