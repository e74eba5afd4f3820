// Package wire carries exchanges with A2A peers and is the only place that opens sockets.
package wire
