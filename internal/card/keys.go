package card

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of documents with keys.
const (
	// MaxKeys that one document may hold.
	MaxKeys = 64
	// MaxKeyDocument is the most bytes of one document.
	MaxKeyDocument = 256 << 10

	minRSA, maxRSA = 2048, 8192 // bits
)

// Keys are public keys that signatures are verified with. The zero value holds none.
type Keys struct{ list []key }

// key is one of them.
type key struct {
	// id as its document names it; empty if it does not.
	id string
	// algorithm that the key is for; empty: any that fits it.
	algorithm string
	// public is *ecdsa.PublicKey, *rsa.PublicKey or ed25519.PublicKey.
	public any
	// print is the hash of the key itself.
	print [sha256.Size]byte
}

// ParseKeys reads a document of public keys that a user wrote: a JWK set, a single JWK, or PEM with public keys or certificates, of which
// only the key counts. A private or symmetric key and an RSA key of less than 2048 bits are an error, so that nobody believes in them; keys
// of a kind that signs no cards, and those for encryption, are passed over. The error says what is wrong, without bytes of the document.
func ParseKeys(document []byte) (Keys, error) { return readKeys(document, false) }

// ParseFetchedKeys reads a JWK set that came over the network: keys that cannot be used are passed over, whatever is wrong with them, and so
// are those beyond MaxKeys. The error says that the document is no JWK set. A set without a key that can be used is none.
func ParseFetchedKeys(document []byte) (Keys, error) {
	if len(document) > MaxKeyDocument {
		return Keys{}, errLargeKeys
	}
	if !bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")) {
		return Keys{}, errNoKeys
	}
	return readKeys(document, true)
}

// Join is both, without repeats.
func (k Keys) Join(more Keys) Keys {
	all := slices.Clone(k.list)
	for _, m := range more.list {
		if !slices.ContainsFunc(all, m.same) {
			all = append(all, m)
		}
	}
	return Keys{all}
}

// Len is how many there are.
func (k Keys) Len() int { return len(k.list) }

// maxShownID is the length of the longest id of a key that is shown as it is.
const maxShownID = 71

// shown is the id as Verify reports it: fit for status, or the hash.
func (k key) shown() string {
	if len(k.id) > maxShownID {
		return hashed(k.id)
	}
	return Safe(k.id)
}

// Has tells whether there is a key whose id is shown as this one is (Signature.KeyID).
func (k Keys) Has(shown string) bool {
	return shown != "" && slices.ContainsFunc(k.list, func(one key) bool { return one.shown() == shown })
}

// Digest is "sha256:" and the hash of the keys with their ids and algorithms, whatever their order; empty if there are none.
func (k Keys) Digest() string {
	if len(k.list) == 0 {
		return ""
	}
	list := slices.Clone(k.list)
	slices.SortFunc(list, func(a, b key) int {
		return cmp.Or(bytes.Compare(a.print[:], b.print[:]), cmp.Compare(a.id, b.id), cmp.Compare(a.algorithm, b.algorithm))
	})
	h := sha256.New()
	for _, one := range list {
		_, _ = fmt.Fprintf(h, "%x %q %q\n", one.print, one.id, one.algorithm) // a hash takes everything
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func (k key) same(other key) bool {
	return k.id == other.id && k.algorithm == other.algorithm && k.print == other.print
}

// What is wrong with a document or a key.
var (
	errNoKeys    = errors.New("reading keys: write a JWK set, a single JWK, or public keys or certificates in PEM")
	errNoUsable  = errors.New("reading keys: none can verify signatures: write an EC (P-256, P-384, P-521), RSA or Ed25519 public key")
	errLargeKeys = fmt.Errorf("reading keys: more than %d bytes", MaxKeyDocument)
	errManyKeys  = fmt.Errorf("reading keys: more than %d in one document", MaxKeys)
	errPrivate   = errors.New("reading keys: a private key is among them: write its public key, and consider the private one disclosed")
	errSymmetric = errors.New("reading keys: a symmetric key (oct) is among them: whoever verifies with it can sign too; write a public key")
	errSmallRSA  = fmt.Errorf("reading keys: an RSA key has less than %d bits or more than %d", minRSA, maxRSA)
	errDamaged   = errors.New("reading keys: a key cannot be read")
	// errOther says that a key is of no use here and no mistake either.
	errOther = errors.New("reading keys: of another kind or for another use")
)

// readKeys reads any document. lenient passes over what cannot be used.
func readKeys(document []byte, lenient bool) (Keys, error) {
	document = bytes.TrimSpace(bytes.TrimPrefix(document, byteOrderMark))
	var list []key
	var err error
	switch {
	case len(document) > MaxKeyDocument:
		return Keys{}, errLargeKeys
	case bytes.HasPrefix(document, []byte("{")):
		list, err = readJWKs(document, lenient)
	default:
		list, err = readPEM(document)
	}
	switch {
	case err != nil:
		return Keys{}, err
	case len(list) == 0 && !lenient:
		return Keys{}, errNoUsable
	}
	return Keys{}.Join(Keys{list}), nil
}

func readJWKs(document []byte, lenient bool) ([]key, error) {
	top, duplicate, ok := readObject(document)
	if !ok || duplicate || !json.Valid(document) {
		return nil, errNoKeys
	}
	var entries []json.RawMessage
	if set, found := top["keys"]; found {
		if entries, ok = readArray(set); !ok {
			return nil, errNoKeys
		}
	} else if entries = append(entries, document); !top.present("kty") {
		return nil, errNoKeys
	}
	if len(entries) > MaxKeys {
		if !lenient {
			return nil, errManyKeys
		}
		entries = entries[:MaxKeys]
	}
	var list []key
	for _, entry := range entries {
		one, err := readJWK(entry)
		switch {
		case err == nil:
			list = append(list, one)
		case !lenient && !errors.Is(err, errOther):
			return nil, err
		}
	}
	return list, nil
}

// readJWK reads one key by the members that make it, and by no other: certificates beside it are not looked at.
func readJWK(raw json.RawMessage) (key, error) {
	o, duplicate, ok := readObject(raw)
	if !ok || duplicate {
		return key{}, errDamaged
	}
	kind, _ := readString(o["kty"])
	if kind == "oct" {
		return key{}, errSymmetric
	}
	for _, secret := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"} {
		if o.present(secret) {
			return key{}, errPrivate
		}
	}
	if !forSignatures(o) {
		return key{}, errOther
	}
	bare := object{"kty": o["kty"]}
	curve, _ := readString(o["crv"])
	switch {
	case kind == "EC" && slices.Contains([]string{"P-256", "P-384", "P-521"}, curve):
		bare["crv"], bare["x"], bare["y"] = o["crv"], o["x"], o["y"]
	case kind == "OKP" && curve == "Ed25519":
		bare["crv"], bare["x"] = o["crv"], o["x"]
	case kind == "RSA":
		bare["n"], bare["e"] = o["n"], o["e"]
	default:
		return key{}, errOther
	}
	text, err := json.Marshal(bare)
	if err != nil {
		return key{}, errDamaged
	}
	var parsed jose.JSONWebKey
	if parsed.UnmarshalJSON(text) != nil {
		return key{}, errDamaged
	}
	one, err := newKey(parsed.Key)
	if err != nil {
		return key{}, err
	}
	if one.algorithm, _ = readString(o["alg"]); one.algorithm == "Ed25519" { // RFC 9864 says more exactly what RFC 8037 calls EdDSA
		one.algorithm = string(jose.EdDSA)
	}
	if o.present("kid") {
		if one.id, ok = readString(o["kid"]); !ok {
			return key{}, errDamaged
		}
	}
	return one, nil
}

// forSignatures tells whether a JWK's use and key_ops leave room for verifying.
func forSignatures(o object) bool {
	use, _ := readString(o["use"])
	if o.present("use") && use != "sig" {
		return false
	}
	operations, _ := readStrings(o["key_ops"])
	return !o.present("key_ops") || slices.Contains(operations, "verify")
}

// readPEM reads what a user wrote; nothing in it is passed over. It holds no key ids.
func readPEM(document []byte) ([]key, error) {
	var list []key
	for {
		block, rest := pem.Decode(document)
		if block == nil {
			break
		}
		document = rest
		public, err := publicKey(block)
		if err != nil {
			return nil, err
		}
		one, err := newKey(public)
		if err != nil {
			return nil, err
		}
		if list = append(list, one); len(list) > MaxKeys {
			return nil, errManyKeys
		}
	}
	if len(list) == 0 {
		return nil, errNoKeys
	}
	return list, nil
}

func publicKey(block *pem.Block) (public any, err error) {
	switch block.Type {
	case "PUBLIC KEY":
		public, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		public, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		var cert *x509.Certificate
		if cert, err = x509.ParseCertificate(block.Bytes); err == nil {
			public = cert.PublicKey
		}
	case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY":
		return nil, errPrivate
	default:
		return nil, errNoKeys
	}
	if err != nil {
		return nil, errDamaged
	}
	return public, nil
}

// newKey takes the kinds of keys that sign cards, and no other.
func newKey(public any) (key, error) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < minRSA || bits > maxRSA {
			return key{}, errSmallRSA
		}
	case *ecdsa.PublicKey:
		if curveOf(k) == "" {
			return key{}, errNoUsable
		}
	case ed25519.PublicKey:
		if len(k) != ed25519.PublicKeySize {
			return key{}, errDamaged
		}
	default:
		return key{}, errNoUsable
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return key{}, errDamaged
	}
	return key{public: public, print: sha256.Sum256(der)}, nil
}

// fits tells whether a key may verify an algorithm: by its kind, its curve, and what its document says it is for.
func (k key) fits(algorithm string) bool {
	if k.algorithm != "" && k.algorithm != algorithm {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return len(algorithm) == 5 && (algorithm[:2] == "RS" || algorithm[:2] == "PS")
	case *ecdsa.PublicKey:
		return curveOf(public) == algorithm
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	}
	return false
}

// curveOf is the algorithm that a curve belongs to (RFC 7518, 3.4); empty for a curve of no use here.
func curveOf(k *ecdsa.PublicKey) string {
	switch k.Curve.Params().Name {
	case "P-256":
		return string(jose.ES256)
	case "P-384":
		return string(jose.ES384)
	case "P-521":
		return string(jose.ES512)
	}
	return ""
}
