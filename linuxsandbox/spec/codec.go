//go:build linux

package spec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// This file encodes what crosses the control socket. Both ends come from one build. The reading end
// is a process that decodes one value in its life: encoding/json would take longer to set itself up
// than all that the keeper does before its mounts.
//
//	struct      each field in order: its name as a string, its value
//	string      length, bytes
//	slice       length, elements
//	pointer     0 for nil; 1 and what it points to
//	bool        0 or 1, one byte
//	integer     eight bytes, high first; a length is one too
//
// Every value has one encoding and every encoding one value (FuzzSpec).

// Encode encodes v, which consists of the kinds above with exported fields.
func Encode(v any) []byte { return appendValue(nil, reflect.ValueOf(v)) }

func appendValue(out []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(out, 1)
		}
		return append(out, 0)
	case reflect.Int, reflect.Int64:
		return binary.BigEndian.AppendUint64(out, uint64(v.Int()))
	case reflect.Uint32, reflect.Uint64:
		return binary.BigEndian.AppendUint64(out, v.Uint())
	case reflect.String:
		return append(binary.BigEndian.AppendUint64(out, uint64(v.Len())), v.String()...)
	case reflect.Slice:
		out = binary.BigEndian.AppendUint64(out, uint64(v.Len()))
		for i := range v.Len() {
			out = appendValue(out, v.Index(i))
		}
		return out
	case reflect.Pointer:
		if v.IsNil() {
			return append(out, 0)
		}
		return appendValue(append(out, 1), v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			out = append(binary.BigEndian.AppendUint64(out, uint64(len(name))), name...)
			out = appendValue(out, v.Field(i))
		}
		return out
	}
	panic("bug: the control socket carries no " + v.Type().String())
}

// Decode decodes what Encode wrote into the value to which into points. It is an error if a field
// has another name or bytes are left over.
func Decode(data []byte, into any) error {
	d := decoder{left: data}
	d.value(reflect.ValueOf(into).Elem())
	if d.err == nil && len(d.left) > 0 {
		return fmt.Errorf("%d bytes follow the last field", len(d.left))
	}
	return d.err
}

var errShort = errors.New("it ends too early")

// decoder decodes an encoding; err is the first error in it.
type decoder struct {
	left []byte
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err, d.left = err, nil
	}
}

// take returns the next n bytes; after an error they are all zero.
func (d *decoder) take(n int) []byte {
	if n > len(d.left) {
		d.fail(errShort)
		return make([]byte, min(n, 8))
	}
	out := d.left[:n]
	d.left = d.left[n:]
	return out
}

func (d *decoder) number() uint64 { return binary.BigEndian.Uint64(d.take(8)) }

// length decodes a length. Each element takes at least one byte, so a length above the rest of the
// data is an error.
func (d *decoder) length() int {
	n := d.number()
	if n > uint64(len(d.left)) {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

// flag decodes a byte that is 0 or 1.
func (d *decoder) flag() bool {
	b := d.take(1)[0]
	if b > 1 {
		d.fail(fmt.Errorf("%d is neither yes nor no", b))
	}
	return b == 1
}

func (d *decoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(d.flag())
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(d.number()))
	case reflect.Uint32, reflect.Uint64:
		n := d.number()
		if v.OverflowUint(n) {
			d.fail(fmt.Errorf("%d is too large", n))
			return
		}
		v.SetUint(n)
	case reflect.String:
		v.SetString(string(d.take(d.length())))
	case reflect.Slice:
		n := d.length()
		if n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := 0; i < n && d.err == nil; i++ {
			d.value(v.Index(i))
		}
	case reflect.Pointer:
		if d.flag() {
			v.Set(reflect.New(v.Type().Elem()))
			d.value(v.Elem())
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && d.err == nil; i++ {
			want := v.Type().Field(i).Name
			if got := d.take(d.length()); d.err == nil && string(got) != want {
				d.fail(fmt.Errorf("unknown field %q instead of %s", got, want))
			}
			d.value(v.Field(i))
		}
	default:
		panic("bug: the control socket carries no " + v.Type().String())
	}
}
