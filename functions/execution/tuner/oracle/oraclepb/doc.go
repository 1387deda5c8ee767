// Package oraclepb holds the generated messages and service of oracle.proto: what KerasTuner's
// workers and its oracle say to each other. Nothing is written by hand here;
// functions/execution/tuner/oracle is the server.
package oraclepb
