// Package gotest runs go test and counts what it says, for commands that prove something by tests of a certain name.
//
// A test counts by its leaves: of a table only its cases, and a parent only where it failed by itself. What fails without a test (a package
// that does not build, a panic of TestMain) counts under the package's name, unless one of its tests tells of it.
package gotest
