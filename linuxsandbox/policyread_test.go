//go:build linux

package linuxsandbox

import (
	"os"
	"reflect"
	"testing"

	"codeagent/sandbox"
)

// examplePolicy has a value in every field.
func examplePolicy(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../sandbox/testdata/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPolicyRead(t *testing.T) {
	data := examplePolicy(t)
	want, err := sandbox.DecodePolicy(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readPolicy(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v\nwant %+v", got, err, want)
	}
	for name, bad := range map[string]string{
		"empty": "", "no version": "{}", "another version": `{"version":2}`, "something after": `{"version":1}{}`,
		"unknown field": `{"version":1,"surprise":1}`, "unknown in a root": `{"version":1,"read":[{"path":"/","x":1}]}`,
		"relative": `{"version":1,"write":[{"path":"w"}]}`, "no host": `{"version":1,"network":{"mode":"allow","hosts":["x:y"]}}`,
		"twice": `{"version":1,"temp":"/a","temp":"/b"}`, "negative": `{"version":1,"limits":{"memory":-1}}`,
	} {
		if p, err := readPolicy([]byte(bad)); err == nil {
			t.Errorf("%s: read as %+v", name, p)
		}
	}
}

// FuzzPolicy: what is read here the library reads alike.
func FuzzPolicy(f *testing.F) {
	f.Add(examplePolicy(f))
	f.Add([]byte(`{"version":1,"env":{"set":{}},"read":null}`))
	f.Add([]byte(`{"version":1,"protected":{"paths":[]},"network":{"hosts":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readPolicy(data)
		if err != nil {
			return
		}
		if want, err := sandbox.DecodePolicy(data); err != nil || !reflect.DeepEqual(withoutEmpty(got), withoutEmpty(want)) {
			t.Errorf("the library reads %+v, %v\nwhere we read %+v", want, err, got)
		}
	})
}

// withoutEmpty makes empty lists equal to missing ones.
func withoutEmpty(p sandbox.Policy) string {
	for _, l := range []*[]string{&p.Protected.Paths, &p.Protected.Names, &p.Protected.Own, &p.Env.Include, &p.Env.Exclude} {
		if len(*l) == 0 {
			*l = nil
		}
	}
	if len(p.Network.Hosts) == 0 {
		p.Network.Hosts = nil
	}
	if len(p.Env.Set) == 0 {
		p.Env.Set = nil
	}
	data, err := sandbox.EncodePolicy(p)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
