// Package card reads agent cards: untrusted bytes in, claims and interfaces out.
package card
