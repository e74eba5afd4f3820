package wire

// The bodies of the HTTP+JSON binding are ProtoJSON: 1.0's are those of its JSON-RPC, those of 0.3 and 0.2 have names of their own
// (wire reference 2).

// restSend builds the body of a send or stream.
func (e Endpoint) restSend(m Message, cfg SendConfig) object {
	if e.Generation == V10 {
		return e.sendParams(m, cfg)
	}
	return object{"message": restMessage03(m), "configuration": protoConfig03(cfg)}
}

// restEmpty is a body that asks for nothing.
func (e Endpoint) restEmpty() object {
	if e.Generation == V10 {
		return e.withTenant(object{})
	}
	return object{}
}

// restPush builds the body that registers a webhook. 0.3's two SDKs read the whole request of the proto, whatever its path says.
func (e Endpoint) restPush(taskID string, p PushConfig) object {
	if e.Generation == V10 {
		return e.pushSetParams(taskID, p)
	}
	o := object{"parent": "tasks/" + taskID, "config": object{"pushNotificationConfig": p.object0()}}
	set(o, "configId", p.ID)
	return o
}

// restMessage03 calls the parts content, as the proto does that both SDKs with such a server were made from.
func restMessage03(m Message) object {
	return withReferences(object{"messageId": messageID(m), "role": "ROLE_USER", "content": protoParts03(m.Parts)}, m)
}
