// Package doctor looks at a deployment: what was looked at, what was found, what to do.
//
// A Check looks at one thing and changes nothing that stays. Examine runs many at once and gives their findings in order. The checks of
// the bus, the store, this machine and Python are here, as functions that make one; more come from other packages (who may do
// what: functions/admin/access). Read Check first.
package doctor
