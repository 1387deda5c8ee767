// Package house checks that the code keeps to the map: folders are rooms, imports are doors, and both stand in one table.
//
// It knows no room by name: house_test.go at the root holds the table of this project. It reads the sources itself,
// through the test process, so that a change of an import anywhere makes a cached test run again. Read Table first.
package house
