package conversation

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"testing"
)

// TestPortCookies: the cookies of the person's other local programs are not sent to a published port, as they
// would be if it were at 127.0.0.1, nor those of one session's server to another's.
func TestPortCookies(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	local := func(host string) *url.URL { return &url.URL{Scheme: "http", Host: host, Path: "/"} }
	for _, host := range []string{"127.0.0.1:3000", "localhost:3000"} {
		jar.SetCookies(local(host), []*http.Cookie{{Name: "login", Value: "secret"}})
	}
	if len(jar.Cookies(local("127.0.0.1:5173"))) != 1 || len(jar.Cookies(local("localhost:5173"))) != 1 {
		t.Error("a cookie does not follow to another port: nothing is shown")
	}
	for n := range 200 {
		at := publishAt(fmt.Sprint("session-", n))
		page := local(netip.AddrPortFrom(at, 5173).String())
		if sent := jar.Cookies(page); len(sent) > 0 || !at.IsLoopback() || at.Unmap().As4()[1] < 2 {
			t.Fatalf("%s: %d cookies are sent", page, len(sent))
		}
		jar.SetCookies(page, []*http.Cookie{{Name: "login", Value: "secret"}})
	}
}
