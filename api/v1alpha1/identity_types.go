package v1alpha1

// TaskIdentity says by what tasks are told apart. Where answers carry the correlation that it names, two of them are about
// the same task if their correlations are equal, whatever their task ids are; where one carries none, ids are compared.
//
// +kubebuilder:validation:XValidation:rule="self.source != 'TaskID' || !has(self.key)",message="source TaskID needs no key: remove key, or set source to Metadata or Header",fieldPath=".key"
// +kubebuilder:validation:XValidation:rule="self.source == 'TaskID' || has(self.key)",message="sources Metadata and Header need a key: set key to the name of the metadata member or response header that tells tasks apart",fieldPath=".key"
// +kubebuilder:validation:XValidation:rule="self.source != 'Header' || !has(self.key) || self.key.matches('^[A-Za-z0-9_.-]+$')",message="must be the name of a header: letters, digits, -, _ and .",fieldPath=".key"
type TaskIdentity struct {
	// source of a task's identity. TaskID: its id, as if taskIdentity were unset. Metadata: a member of the metadata of the
	// task, its updates and messages. Header: a header of the HTTP response, or a key of gRPC's response metadata.
	// +kubebuilder:validation:Enum=TaskID;Metadata;Header
	// +required
	Source TaskIdentitySource `json:"source"`

	// key is the name of the metadata member or of the header. Its value must be the same in every answer about one task and
	// differ between tasks; values that are neither strings nor numbers, or longer than 256 bytes, count as absent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9._:/@+-]+$')",message="must be made of letters, digits and . _ : / @ + -"
	// +optional
	Key string `json:"key,omitempty"`
}

// TaskIdentitySource is where a task's identity is read.
type TaskIdentitySource string

// The sources of a task's identity.
const (
	IdentityTaskID   TaskIdentitySource = "TaskID"
	IdentityMetadata TaskIdentitySource = "Metadata"
	IdentityHeader   TaskIdentitySource = "Header"
)
