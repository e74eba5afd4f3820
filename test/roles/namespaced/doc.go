// Package namespaced holds the tests of config/namespaced: the operator works in the namespaces that it is given, with Roles
// alone, and has no right in any other.
package namespaced
