// Package backendtest supports the tests of the whole Linux backend: packages of tests alone, each
// named for what it tests. The backend's own tests cannot import it.
package backendtest
