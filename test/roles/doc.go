// Package roles holds the tests of who may do what: every role of config/rbac and every policy of config/admission, on a real
// API server, by real tokens of ServiceAccounts that are bound to nothing else. The package namespaced beside it does the
// same for config/namespaced, which cannot stand on one API server with config/default.
//
// Nothing runs beside the API server, so no controller aggregates our roles into edit, view and admin. That their labels are
// what those roles select is tested instead.
package roles
