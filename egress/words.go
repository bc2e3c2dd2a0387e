package egress

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// failure is why a page was not fetched, in words of codeagent's own.
type failure string

func (f failure) Error() string { return string(f) }

// plain says in fixed words why an exchange failed. Threat: errors of net/http and
// crypto/tls quote what a server sent (a malformed line, the names in a certificate,
// the debug data of HTTP/2's GOAWAY), and a model takes an error for the words of codeagent. So
// the text of an unknown error is never shown.
func plain(err error) failure {
	var own failure
	var errno syscall.Errno
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &certificate):
		return untrusted(certificate.Err)
	case errors.As(err, &record):
		return "it did not answer in TLS"
	case errors.As(err, &errno):
		return failure("the connection failed: " + errno.Error())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "the connection timed out"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended in the middle of the answer"
	case errors.Is(err, io.EOF):
		return "the connection ended without an answer"
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return "its gzip data is invalid"
	case isTLS(err):
		return "no TLS connection with it could be made"
	}
	return failure(fmt.Sprintf("it did not answer in HTTP: the answer is malformed, broken off, or has a header of more than %d KiB", maxHeader>>10))
}

// untrusted says what is wrong with a certificate, and nothing of what is in it:
// its names are read before anybody has vouched for it.
func untrusted(err error) failure {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "its certificate is for another name"
	case errors.As(err, &authority):
		return "its certificate is signed by an authority that is not trusted here"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired or is not valid yet"
	}
	return "its certificate cannot be trusted"
}

// isTLS reports an error of crypto/tls, most of which have no type.
func isTLS(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") { // alerts
		return true
	}
	return strings.HasPrefix(err.Error(), "tls: ")
}

// proxyAnswered ends a connection that the proxy does not make: the text that
// net/http has for it is the proxy's.
func proxyAnswered(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return failure(strings.TrimSpace(fmt.Sprintf("the proxy answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))))
}
