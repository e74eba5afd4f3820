package client

import (
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// keepTask keeps the newest form of the task. One that lists no artifacts does not take those away which came by stream.
func (a *attempt) keepTask(task *a2a.Task) error {
	kept := *task
	kept.Artifacts = make([]*a2a.Artifact, len(task.Artifacts))
	for i, artifact := range task.Artifacts {
		kept.Artifacts[i] = own(artifact)
	}
	if len(kept.Artifacts) == 0 && a.task != nil {
		kept.Artifacts = a.task.Artifacts
	}
	a.task = &kept
	a.size = weighAny(kept.Metadata) + weighMessage(kept.Status.Message) + weighMessage(a.message)
	for _, artifact := range kept.Artifacts {
		a.size += weighArtifact(artifact)
	}
	for _, m := range kept.History {
		a.size += weighMessage(m)
	}
	return a.tooLarge()
}

// keepArtifact puts a piece of an artifact where it belongs.
func (a *attempt) keepArtifact(e *a2a.TaskArtifactUpdateEvent) error {
	if e.Artifact == nil {
		return nil
	}
	a.size += weighArtifact(e.Artifact)
	if err := a.tooLarge(); err != nil {
		return err
	}
	if a.task == nil {
		a.task = &a2a.Task{ID: a.id(), ContextID: a.contextID, Status: a.status}
	}
	i := slices.IndexFunc(a.task.Artifacts, func(x *a2a.Artifact) bool { return x != nil && x.ID == e.Artifact.ID })
	switch {
	case i < 0:
		a.task.Artifacts = append(a.task.Artifacts, own(e.Artifact))
	case e.Append:
		whole := a.task.Artifacts[i]
		whole.Parts = append(whole.Parts, e.Artifact.Parts...)
	default:
		a.size -= weighArtifact(a.task.Artifacts[i])
		a.task.Artifacts[i] = own(e.Artifact)
	}
	return nil
}

// own copies an artifact, so that pieces can be added to it without changing the event that OnEvent was shown.
func own(artifact *a2a.Artifact) *a2a.Artifact {
	if artifact == nil {
		return nil
	}
	mine := *artifact
	mine.Parts = slices.Clone(mine.Parts)
	return &mine
}

func (a *attempt) tooLarge() error {
	if most := a.t.o.MaxBytes; a.size > most {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	}
	return nil
}

// perThing is what an empty part, message or artifact costs us, in bytes, so that many of nothing are not free.
const perThing = 256

func weighArtifact(artifact *a2a.Artifact) int {
	if artifact == nil {
		return perThing
	}
	return perThing + len(artifact.ID) + len(artifact.Name) + len(artifact.Description) + weighTexts(artifact.Extensions) +
		weighAny(artifact.Metadata) + weigh(artifact.Parts)
}

func weighMessage(m *a2a.Message) int {
	if m == nil {
		return 0
	}
	return perThing + len(m.ID) + len(m.ContextID) + len(m.TaskID) + len(m.Role) + weighTexts(m.Extensions) + weighTexts(m.ReferenceTasks) +
		weighAny(m.Metadata) + weigh(m.Parts)
}

func weigh(parts a2a.ContentParts) int {
	n := 0
	for _, p := range parts {
		n += perThing
		if p == nil {
			continue
		}
		n += len(p.Filename) + len(p.MediaType) + weighAny(p.Metadata)
		switch c := p.Content.(type) {
		case a2a.Text:
			n += len(c)
		case a2a.Raw:
			n += len(c)
		case a2a.URL:
			n += len(c)
		case a2a.Data:
			n += weighAny(c.Value)
		}
	}
	return n
}

// perWord is what a text costs beside its bytes.
const perWord = 16

func weighTexts[T ~string](list []T) int {
	n := 0
	for _, text := range list {
		n += perWord + len(text)
	}
	return n
}

// weighAny estimates what decoded JSON takes.
func weighAny(v any) int {
	switch x := v.(type) {
	case string:
		return perWord + len(x)
	case []any:
		n := perWord
		for _, e := range x {
			n += weighAny(e)
		}
		return n
	case map[string]any:
		n := 0
		for k, e := range x {
			n += perWord + len(k) + weighAny(e)
		}
		return n
	}
	return perWord
}
