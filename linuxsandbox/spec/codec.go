//go:build linux

package spec

import (
	"bytes"
	"encoding/gob"
	"fmt"
)

// Encode encodes what crosses the control socket. Both ends come from one build. Strings may have any bytes.
func Encode(v any) []byte {
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(v); err != nil {
		panic("bug: " + err.Error())
	}
	return out.Bytes()
}

// Decode decodes what Encode wrote into the value to which into points. It is an error if bytes are left over.
func Decode(data []byte, into any) error {
	left := bytes.NewReader(data)
	err := gob.NewDecoder(left).Decode(into)
	if err == nil && left.Len() > 0 {
		err = fmt.Errorf("%d bytes follow the last field", left.Len())
	}
	return err
}
