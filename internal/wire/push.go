package wire

// pushSetParams builds the params of the method that registers a webhook.
func (e Endpoint) pushSetParams(taskID string, p PushConfig) object {
	switch e.Generation {
	case V01:
		return object{"id": taskID, "pushNotificationConfig": p.object0()}
	case V02, V03:
		return object{"taskId": taskID, "pushNotificationConfig": p.object0()}
	}
	o := p.object10()
	o["taskId"] = taskID
	return e.withTenant(o)
}

// pushNamed builds the params that name one config of a task.
func (e Endpoint) pushNamed(taskID, configID string) object {
	if e.Generation == V10 {
		return e.withTenant(object{"taskId": taskID, "id": configID})
	}
	return object{"id": taskID, "pushNotificationConfigId": configID}
}

// object0 is a config in 0.x's form, object10 in 1.0's.
func (p PushConfig) object0() object {
	o := p.common()
	if p.Scheme != "" {
		a := object{"schemes": []string{p.Scheme}}
		set(a, "credentials", p.Credentials)
		o["authentication"] = a
	}
	return o
}

func (p PushConfig) object10() object {
	o := p.common()
	if p.Scheme != "" {
		a := object{"scheme": p.Scheme}
		set(a, "credentials", p.Credentials)
		o["authentication"] = a
	}
	return o
}

func (p PushConfig) common() object {
	o := object{"url": p.URL}
	set(o, "id", p.ID)
	set(o, "token", p.Token)
	return o
}
