// Package spec is what codeagent and the helper send each other.
package spec
