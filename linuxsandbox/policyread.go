//go:build linux

package linuxsandbox

import (
	"fmt"

	"codeagent/sandbox"
)

// readPolicy is sandbox.DecodePolicy for the helper by hand, which without
// encoding/json is a third of a megabyte smaller. It is stricter, as jsonReader
// is: what it reads DecodePolicy reads alike (FuzzPolicy), and a field that is
// missing here fails TestPolicyRead.
func readPolicy(data []byte) (sandbox.Policy, error) {
	r := &jsonReader{data: data}
	var p sandbox.Policy
	version := int64(0)
	r.object(func(name string) bool {
		list, isList := map[string]*[]string{"deny_read": &p.DenyRead, "deny_globs": &p.DenyGlobs, "sockets": &p.Sockets}[name]
		switch {
		case isList:
			*list = r.texts()
		case name == "version":
			version = r.int(64)
		case name == "read":
			p.Read = r.roots()
		case name == "write":
			p.Write = r.roots()
		case name == "was_write":
			p.WasWrite = r.roots()
		case name == "protected":
			r.lists(map[string]*[]string{"paths": &p.Protected.Paths, "names": &p.Protected.Names, "own": &p.Protected.Own, "hidden": &p.Protected.Hidden})
		case name == "network":
			r.network(&p.Network)
		case name == "limits":
			p.Limits = r.limits()
		case name == "env":
			r.environment(&p.Env)
		case name == "temp":
			p.Temp = r.text()
		case name == "shared_temp":
			p.SharedTemp = r.bool()
		case name == "unconfined":
			p.Unconfined = r.bool()
		default:
			return false
		}
		return true
	})
	if err := r.end(); err != nil {
		return sandbox.Policy{}, fmt.Errorf("policy: %w", err)
	}
	if version != sandbox.PolicyVersion {
		return sandbox.Policy{}, fmt.Errorf("policy: version %d, want %d", version, sandbox.PolicyVersion)
	}
	return p, p.Validate()
}

func (r *jsonReader) texts() (out []string) {
	r.array(func() { out = append(out, r.text()) })
	return out
}

// lists reads an object whose fields are lists of texts.
func (r *jsonReader) lists(fields map[string]*[]string) {
	r.object(func(name string) bool {
		list, ok := fields[name]
		if ok {
			*list = r.texts()
		}
		return ok
	})
}

func (r *jsonReader) roots() (out []sandbox.Root) {
	r.array(func() {
		var root sandbox.Root
		r.object(func(name string) bool {
			switch name {
			case "path":
				root.Path = r.text()
			case "optional":
				root.Optional = r.bool()
			default:
				return false
			}
			return true
		})
		out = append(out, root)
	})
	return out
}

func (r *jsonReader) network(n *sandbox.Network) {
	r.object(func(name string) bool {
		switch name {
		case "mode":
			n.Mode = sandbox.NetworkMode(r.text())
		case "hosts":
			r.array(func() {
				host, err := sandbox.ParseHostPort(r.text())
				if err != nil {
					r.fail(err.Error())
				}
				n.Hosts = append(n.Hosts, host)
			})
		default:
			return false
		}
		return true
	})
}

func (r *jsonReader) environment(e *sandbox.Env) {
	r.object(func(name string) bool {
		list, isList := map[string]*[]string{"include": &e.Include, "exclude": &e.Exclude}[name]
		switch {
		case isList:
			*list = r.texts()
		case name == "inherit":
			e.Inherit = sandbox.EnvInherit(r.text())
		case name == "set":
			e.Set = map[string]string{}
			r.object(func(name string) bool { e.Set[name] = r.text(); return true })
		default:
			return false
		}
		return true
	})
}
