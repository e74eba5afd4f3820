package main

import (
	"context"

	"github.com/agentpeer/agentpeer/test/sdk"
)

// sdkPeer is the AgentPeer whose agent is a third-party server; it picks its own port, so its file's URL is replaced.
const sdkPeer = "node-sdk"

func (d *stage) startSDKPeer(ctx context.Context) error {
	url, stop, err := sdk.Start(ctx, "a2a-js-1.3.0")
	if err != nil {
		return err
	}
	d.undo = append(d.undo, func() error { stop(); return nil })
	d.sdkURL = url
	return nil
}
