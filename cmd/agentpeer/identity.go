package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/agentpeer/agentpeer/api/v1alpha1"
)

// identityKey is what the API server takes for a key, and headerName for one that names a header.
var (
	identityKey = regexp.MustCompile(`^[A-Za-z0-9._:/@+-]{1,128}$`)
	headerName  = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
)

func validIdentity(i *v1alpha1.TaskIdentity) error {
	switch {
	case i == nil || i.Source == v1alpha1.IdentityTaskID && i.Key == "":
		return nil
	case i.Source == v1alpha1.IdentityTaskID:
		return errors.New("taskIdentity.key is set, and source TaskID needs none")
	case i.Source == v1alpha1.IdentityMetadata && identityKey.MatchString(i.Key), i.Source == v1alpha1.IdentityHeader && headerName.MatchString(i.Key):
		return nil
	case i.Source == v1alpha1.IdentityMetadata || i.Source == v1alpha1.IdentityHeader:
		return fmt.Errorf("taskIdentity.key is %q, want the name of a member of metadata or of a header, such as correlationId", i.Key)
	}
	return fmt.Errorf("taskIdentity.source is %q, want TaskID, Metadata or Header", i.Source)
}
