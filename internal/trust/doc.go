// Package trust judges: claim and observation in, trust state and decision out.
package trust
