package main

import (
	"context"

	"github.com/agentpeer/agentpeer/test/sdk"
)

// startSDKPeer starts the third-party server that a peer's file names. It picks its own port, so the file's URL is replaced.
func (d *stage) startSDKPeer(ctx context.Context, p peer) error {
	url, stop, err := sdk.Start(ctx, p.sdk)
	if err != nil {
		return err
	}
	d.undo = append(d.undo, func() error { stop(); return nil })
	p.object.Spec.URL = url
	return nil
}
