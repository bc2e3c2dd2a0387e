//go:build linux

package alike

const noSocketBroker = "sockets with a path are connected and bound by the broker"

// The addresses are short: the path of a socket has at most 107 bytes, and the folders of tests
// have long names.

// asServer, after a command, runs it in the background and waits until it has created the file
// "ready".
const asServer = ` > log 2>&1 & server=$!; until test -e ready; do kill -0 $server; sleep 0.02; done; `

var socketJobs = []job{
	{name: "python asyncio on a path", needs: "python3", layer: "notify", why: noSocketBroker, script: `python3 -c '
import asyncio
async def serve(r, w):
    w.write((await r.readline()).upper()); await w.drain(); w.close()
async def main():
    server = await asyncio.start_unix_server(serve, "s.sock")
    async with server:
        async def one(i):
            r, w = await asyncio.open_unix_connection("s.sock")
            w.write(b"line %d\n" % i); line = await r.readline(); w.close(); return line
        print(sorted(await asyncio.gather(*map(one, range(20))))[-1])
asyncio.run(main())'`, says: "LINE 9"},
	{name: "python socketserver, a client of its own", needs: "python3", layer: "notify", why: noSocketBroker, script: `python3 -c '
import socketserver
class H(socketserver.StreamRequestHandler):
    def handle(self): self.wfile.write(self.rfile.readline()[::-1])
s = socketserver.UnixStreamServer("./s.sock", H); open("ready", "w"); s.serve_forever()'` + asServer + `python3 -c '
import socket
c = socket.socket(socket.AF_UNIX); c.connect("s.sock"); c.send(b"tac\n"); print("said", c.recv(9))'; kill $server`, says: `said b'\ncat'`},
	{name: "python multiprocessing listener", needs: "python3", layer: "notify", why: noSocketBroker, script: `python3 -c '
import multiprocessing.connection as c, threading
l = c.Listener("l.sock", authkey=b"k")
t = threading.Thread(target=lambda: l.accept().send([1, "two"])); t.start()
print("got", c.Client(l.address, authkey=b"k").recv()); t.join(); l.close()'`, says: "got [1, 'two']"},
	{name: "python multiprocessing manager", needs: "python3", layer: "notify", why: noSocketBroker, script: `python3 -c '
import multiprocessing as m, multiprocessing.managers as s
if __name__ == "__main__":
    with s.SyncManager("./m.sock", ctx=m.get_context("fork")) as manager:
        d = manager.dict(); l = manager.list(range(3)); d["sum"] = sum(l); print("managed", dict(d))'`, says: "managed {'sum': 3}"},
	{name: "node net on a path", needs: "node", layer: "notify", why: noSocketBroker, script: `node -e '
const net = require("net");
const s = net.createServer(c => c.end("pong")).listen("n.sock", () => {
  net.connect("n.sock").on("data", d => { console.log("address", s.address(), "" + d); s.close(); });
})'; test ! -e n.sock`, says: "address n.sock pong"},
	{name: "node http on a path, curl", needs: "node curl", layer: "notify", why: noSocketBroker, script: `node -e '
require("http").createServer((q, r) => r.end("path " + q.url)).listen(process.env.TMPDIR + "/h.sock", () => require("fs").writeFileSync("ready", ""))'` +
		asServer + `curl -sS --unix-socket "$TMPDIR/h.sock" http://local/a; kill $server`, says: "path /a"},
	{name: "perl socket as a lock", needs: "perl", layer: "notify", why: noSocketBroker, script: `perl -MIO::Socket::UNIX -e '
sub lock { IO::Socket::UNIX->new(Local => "lock", Listen => 1) }
$first = lock() or die $!; print lock() ? "twice\n" : "held: $!\n"; print IO::Socket::UNIX->new(Peer => "lock") ? "alive\n" : "dead\n";
close $first; print IO::Socket::UNIX->new(Peer => "lock") ? "alive\n" : "stale: $!\n"; unlink "lock"; print lock() ? "again\n" : "no\n"'`,
		says: "held: Address already in use\nalive\nstale: Connection refused\nagain"},
	{name: "go net on a path", needs: "go", layer: "notify", why: noSocketBroker, slow: true, script: `cat > x.go <<'X'
package main

import ("fmt"; "io"; "net"; "os")

func main() {
	l, err := net.Listen("unix", os.Getenv("TMPDIR") + "/g.sock")
	if err != nil { panic(err) }
	go func() { c, _ := l.Accept(); io.WriteString(c, "gone"); c.Close() }()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil { panic(err) }
	text, _ := io.ReadAll(c)
	l.Close()
	_, err = os.Stat(l.Addr().String())
	fmt.Println(string(text), os.IsNotExist(err))
}
X
go run x.go`, says: "gone true"},
}
