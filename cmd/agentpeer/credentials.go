package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentpeer/agentpeer/internal/card"
	"github.com/agentpeer/agentpeer/internal/probe"
	"github.com/agentpeer/agentpeer/internal/wire"
)

// identityFlags say who we are to the agent, and how it shows who it is. Secrets come from files alone: a command line is seen by every
// process of the machine.
type identityFlags struct {
	tokenFile, headerFile, queryFile, basicFile     string
	tokenURL, clientID, clientSecretFile, audience  string
	scopes                                          []string
	clientAuthentication                            string
	caFile, certificateFile, keyFile, tlsServerName string
	pins                                            []string
	cardKeys                                        string
	jwksURL                                         string
}

func (f *identityFlags) bind(fl *pflag.FlagSet) {
	fl.StringVar(&f.tokenFile, "bearer-token-file", "", "file with a bearer token to send to the URL's origin; - reads standard input")
	fl.StringVar(&f.headerFile, "header-file", "", "NAME=FILE: header to send to the URL's origin, such as X-API-Key=key.txt; - reads standard input")
	fl.StringVar(&f.queryFile, "query-file", "", "NAME=FILE: query parameter to send to the URL's origin, such as api_key=key.txt; - reads standard input")
	fl.StringVar(&f.basicFile, "basic-file", "", "file with USER:PASSWORD for basic authentication at the URL's origin; - reads standard input")
	fl.StringVar(&f.tokenURL, "oauth2-token-url", "", "token endpoint to get an access token from, by the client credentials grant")
	fl.StringVar(&f.clientID, "oauth2-client-id", "", "name of the client at --oauth2-token-url")
	fl.StringVar(&f.clientSecretFile, "oauth2-client-secret-file", "", "file with the client's secret; - reads standard input")
	fl.StringSliceVar(&f.scopes, "oauth2-scopes", nil, "scopes to ask for")
	fl.StringVar(&f.audience, "oauth2-audience", "", "audience to ask for")
	fl.StringVar(&f.clientAuthentication, "oauth2-client-authentication", "Basic", "how the client shows its secret: Basic (header) or Post (body)")
	fl.StringVar(&f.caFile, "ca-file", "", "file with certificates in PEM to trust besides the system's")
	fl.StringVar(&f.certificateFile, "client-certificate", "", "file with a certificate in PEM to show to the URL's origin")
	fl.StringVar(&f.keyFile, "client-key", "", "file with the private key of --client-certificate")
	fl.StringVar(&f.tlsServerName, "tls-server-name", "", "name that the certificate of the URL's origin must be for (default: the URL's host)")
	fl.StringSliceVar(&f.pins, "pin-spki", nil, "SHA-256 in base64 of a public key that the URL's origin must have in its chain of certificates; several: one of them")
	fl.StringVar(&f.cardKeys, "card-keys", "", "file with public keys (JWK set, JWK or PEM) to verify the card's signatures with; - reads standard input")
	fl.StringVar(&f.jwksURL, "jwks-url", "", "URL of a JWK set to verify the card's signatures with, on the URL's origin or one of --allow-origins")
}

// standardInput names the flags that read it.
func (f *identityFlags) standardInput() []string {
	var out []string
	for name, value := range map[string]string{"bearer-token-file": f.tokenFile, "header-file": after(f.headerFile), "query-file": after(f.queryFile),
		"basic-file": f.basicFile, "oauth2-client-secret-file": f.clientSecretFile, "card-keys": f.cardKeys} {
		if value == "-" {
			out = append(out, "--"+name)
		}
	}
	return out
}

// after is what stands after the first equals sign.
func after(s string) string {
	_, v, _ := strings.Cut(s, "=")
	return v
}

// apply fills in what concerns identity. Its errors say what to write instead, and hold no secret.
func (f *identityFlags) apply(t *probe.Target, in io.Reader) error {
	t.Credentials.Origins = []string{t.URL.Scheme + "://" + t.URL.Host}
	for _, step := range []func(*probe.Target, io.Reader) error{f.credential, f.certificates, f.verification} {
		if err := step(t, in); err != nil {
			return err
		}
	}
	return nil
}

// credential reads the one way to authenticate that was chosen.
func (f *identityFlags) credential(t *probe.Target, in io.Reader) error {
	var given []string
	for _, x := range []struct{ name, value string }{{"--bearer-token-file", f.tokenFile}, {"--header-file", f.headerFile},
		{"--query-file", f.queryFile}, {"--basic-file", f.basicFile}, {"--oauth2-token-url", f.tokenURL}} {
		if x.value != "" {
			given = append(given, x.name)
		}
	}
	if len(given) > 1 {
		return fmt.Errorf("%s are all set: an agent is sent one credential, so choose one", strings.Join(given, " and "))
	}
	c := &t.Credentials
	switch {
	case f.tokenFile != "":
		token, err := secretLine("--bearer-token-file", f.tokenFile, in)
		if err != nil {
			return err
		}
		if strings.Contains(token, " ") {
			return fmt.Errorf("reading --bearer-token-file: %q holds more than one token", f.tokenFile)
		}
		c.Header, c.Value = "Authorization", "Bearer "+token
	case f.headerFile != "":
		name, value, err := namedSecret("--header-file", f.headerFile, in)
		c.Header, c.Value = name, value
		return err
	case f.queryFile != "":
		name, value, err := namedSecret("--query-file", f.queryFile, in)
		c.Query, c.Value = name, value
		return err
	case f.basicFile != "":
		pair, err := secretLine("--basic-file", f.basicFile, in)
		if err != nil {
			return err
		}
		if user, _, ok := strings.Cut(pair, ":"); !ok || user == "" {
			return fmt.Errorf("reading --basic-file: %q does not hold a user name, a colon and a password", f.basicFile)
		}
		c.Header, c.Value = "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair))
	case f.tokenURL != "":
		return f.oauth2(c, in)
	case f.clientID != "" || f.clientSecretFile != "" || len(f.scopes) > 0 || f.audience != "":
		return errors.New("an --oauth2 flag is set and --oauth2-token-url is not: name the token endpoint")
	}
	return nil
}

func (f *identityFlags) oauth2(c *wire.Credentials, in io.Reader) error {
	u, err := url.Parse(f.tokenURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(f.tokenURL, "?#") {
		return errors.New("--oauth2-token-url cannot be used: write an absolute https URL without user name, query or fragment")
	}
	if f.clientID == "" || f.clientSecretFile == "" {
		return errors.New("--oauth2-token-url needs --oauth2-client-id and --oauth2-client-secret-file")
	}
	if f.clientAuthentication != "Basic" && f.clientAuthentication != "Post" {
		return fmt.Errorf("--oauth2-client-authentication is %q, want Basic or Post", f.clientAuthentication)
	}
	secret, err := secretLine("--oauth2-client-secret-file", f.clientSecretFile, in)
	if err != nil {
		return err
	}
	c.OAuth2 = &wire.OAuth2{TokenURL: u, ClientID: f.clientID, ClientSecret: secret, Scopes: f.scopes, Audience: f.audience,
		InBody: f.clientAuthentication == "Post", Source: "command line"}
	return nil
}

// certificates reads what is trusted, what is shown and what is pinned.
func (f *identityFlags) certificates(t *probe.Target, in io.Reader) (err error) {
	if f.caFile != "" {
		if t.RootCAs, err = readFile(f.caFile, in, 1<<20); err != nil {
			return fmt.Errorf("reading --ca-file: %w", err)
		}
	}
	if (f.certificateFile == "") != (f.keyFile == "") {
		return errors.New("--client-certificate and --client-key go together: set both")
	}
	if f.certificateFile != "" {
		pair, err := tls.LoadX509KeyPair(f.certificateFile, f.keyFile)
		var missing *os.PathError
		switch {
		case errors.As(err, &missing):
			return fmt.Errorf("reading --client-certificate and --client-key: %w", missing)
		case err != nil:
			return errors.New("reading --client-certificate and --client-key: they are not a certificate and its private key in PEM")
		}
		t.Credentials.Certificate = &pair
	}
	if t.URL.Scheme != "https" && (f.certificateFile != "" || f.tlsServerName != "" || len(f.pins) > 0) {
		return errors.New("--client-certificate, --tls-server-name and --pin-spki are about TLS, and the URL is http: write https")
	}
	t.ServerName = f.tlsServerName
	for _, text := range f.pins {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw) != sha256.Size {
			return fmt.Errorf("--pin-spki holds %q, want a SHA-256 in base64: 43 characters and =", text)
		}
		t.SPKI = append(t.SPKI, [sha256.Size]byte(raw))
	}
	return nil
}

// verification reads the keys that the card's signatures are verified with.
func (f *identityFlags) verification(t *probe.Target, in io.Reader) error {
	if f.cardKeys != "" {
		document, err := readFile(f.cardKeys, in, 1<<20)
		if err == nil {
			_, err = card.ParseKeys(document)
		}
		if err != nil {
			return fmt.Errorf("reading --card-keys: %w", err)
		}
		t.Verification.Keys = [][]byte{document}
	}
	if f.jwksURL != "" {
		u, err := url.Parse(f.jwksURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Contains(f.jwksURL, "#") {
			return errors.New("--jwks-url cannot be used: write an absolute https URL without user name or fragment")
		}
		if !onListedOrigin(u, t) {
			return errors.New("--jwks-url is neither on the URL's origin nor on one of --allow-origins: allow its origin")
		}
		t.Verification.JWKS = u
	}
	t.Verification.Wanted = f.cardKeys != "" || f.jwksURL != ""
	return nil
}

// onListedOrigin: the origin of the URL that was typed, or one that was allowed beside it.
func onListedOrigin(u *url.URL, t *probe.Target) bool {
	return wire.Origin(u) == wire.Origin(t.URL) || slices.ContainsFunc(t.AllowedOrigins, func(o string) bool {
		allowed, err := url.Parse(o)
		return err == nil && wire.Origin(allowed) == wire.Origin(u)
	})
}

// namedSecret reads NAME=FILE.
func namedSecret(flag, value string, in io.Reader) (name, secret string, err error) {
	name, file, ok := strings.Cut(value, "=")
	if !ok || name == "" || file == "" {
		return "", "", fmt.Errorf("%s wants NAME=FILE, such as X-API-Key=key.txt", flag)
	}
	secret, err = secretLine(flag, file, in)
	return name, secret, err
}

// secretLine reads one line of printable characters. Its errors hold none of them.
func secretLine(flag, file string, in io.Reader) (string, error) {
	raw, err := readFile(file, in, 64<<10)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", flag, err)
	}
	value := strings.TrimSpace(string(raw))
	switch {
	case value == "":
		return "", fmt.Errorf("reading %s: %q is empty", flag, file)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", fmt.Errorf("reading %s: %q holds more than one line, or characters that no request can hold", flag, file)
	}
	return value, nil
}
