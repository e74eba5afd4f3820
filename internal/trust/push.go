package trust

// DeliveredTo names the receiver of webhooks that the peer called last, for the next round to hold it to; empty if it called none.
func DeliveredTo(p Peer) string {
	rec, _ := p.find(PushNotifications)
	return rec.DeliveredTo
}
