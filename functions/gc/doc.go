// Package gc removes from the store what nobody will ask for again: attempts that no commit names, old checkpoints, and, where
// retention is asked for, models that newer ones have replaced. It never touches a fact, an artifact that others made, or
// anything that Stoker has not laid out itself: only executions with objects below .system are looked at.
//
// What is removed is decided by pure functions over a survey of the store; the effects come after. Time is the store's own
// clock, so that a machine whose clock is wrong removes nothing early. Read Collect first.
package gc
