//go:build linux

package alike

// waitUp defines await, which waits for a command to succeed, while the server lives.
const waitUp = `trap 'kill $(jobs -p) 2>/dev/null || :' EXIT; await() { until "$@" >/dev/null 2>&1; do kill -0 $server; sleep 0.02; done; }; `

// account has libraries find an account of the caller: PostgreSQL and ssh do not work without one.
const account = `printf '#include <pwd.h>\n#include <stddef.h>\n#include <unistd.h>\nstatic char dir[4096];\nstatic struct passwd me = {"dev", "x", 0, 0, "dev", dir, "/bin/sh"};\nstruct passwd *getpwuid(uid_t u) { me.pw_uid = me.pw_gid = u; getcwd(dir, 4096); return &me; }\nstruct passwd *getpwnam(const char *n) { return getpwuid(getuid()); }\nint getpwuid_r(uid_t u, struct passwd *p, char *b, size_t n, struct passwd **r) { *p = *getpwuid(u); *r = p; return 0; }\n' > me.c; ` +
	`gcc -shared -fPIC -o me.so me.c; export LD_PRELOAD=$PWD/me.so; `

// postgres makes a database and starts its server; $1 are options of the server.
const postgres = account + `PATH=$(echo /usr/lib/postgresql/*/bin):$PATH; export PGDATA=$PWD/db PGUSER=dev PGDATABASE=postgres; initdb -N -A trust -U dev >/dev/null; ` +
	`start() { pg_ctl -s -w -l log -o "-F $1" start; }; `

const noNamespaces = "a user namespace comes with all capabilities in it: what was mounted over a protected name could be mounted over or moved"

// served is a page for servers of files.
const served = `mkdir www; echo '<h1>A page</h1><a href=/>link</a>' > www/index.html; `

var serviceJobs = []job{
	{name: "PostgreSQL on a socket", needs: "psql pg_ctlcluster gcc", layer: "mountns", why: noIPC, script: postgres + `export PGHOST=$PWD; start "-k $PWD -h ''"; ` +
		`psql -qc 'create table t(a serial primary key, b text); insert into t(b) select md5(i::text) from generate_series(1, 999) i; create index on t(b)'; psql -Atc 'select count(*) from t'; pg_dump -Fc -f dump; createdb copy; pg_restore -d copy dump; psql -d copy -Atc 'select max(a) from t'; pg_ctl -s stop`, says: "999\n999"},
	{name: "PostgreSQL over TCP", needs: "psql pg_ctlcluster gcc", layer: anyNetwork, why: ownNetworkWhy, script: postgres + `export PGHOST=127.0.0.1 PGPORT=5544; start "-k '' -p 5544"; ` +
		`pgbench -qi 2>/dev/null; pgbench -c 4 -j 2 -t 5 -n | grep processed; psql -qc 'create role app login'; psql -U app -Atc 'select current_user'; pg_ctl -s -m fast stop`, says: "20/20\napp"},
	{name: "redis on a socket", needs: "redis-server redis-cli", layer: "notify", why: noSocketBroker, script: waitUp + `redis-server --port 0 --unixsocket r.sock --appendonly yes > log & server=$!; r="redis-cli -s r.sock"; await $r ping; $r set k v; $r lpush l 1 2 3 >/dev/null; $r bgrewriteaof >/dev/null; ` +
		`$r shutdown; wait $server; ls appendonlydir; redis-server --port 0 --unixsocket r.sock --appendonly yes > log & server=$!; await $r ping; $r get k; $r llen l; $r shutdown`, says: "v\n3"},
	{name: "redis with a replica", needs: "redis-server redis-cli", layer: anyNetwork, why: ownNetworkWhy, script: waitUp + `redis-server --port 7001 --dir . > log & server=$!; await redis-cli -p 7001 ping; mkdir two; redis-server --port 7002 --dir two --replicaof 127.0.0.1 7001 > log2 & server=$!; ` +
		`redis-cli -p 7001 set k replicated; got() { test "$(redis-cli -p 7002 get k)" = replicated; }; await got; redis-cli -p 7002 get k`, says: "replicated"},
	{name: "memcached", needs: "memcached python3", layer: "notify", why: noSocketBroker, script: waitUp + `memcached -s m.sock & server=$!; await test -S m.sock; python3 -c '
import socket
c = socket.socket(socket.AF_UNIX); c.connect("m.sock"); f = c.makefile("rwb")
f.write(b"set k 0 0 5\r\nvalue\r\nget k\r\n"); f.flush(); print([f.readline() for _ in range(3)][2].decode())'`, says: "value"},
	{name: "nginx before a socket of node", needs: "nginx node curl", layer: anyNetwork, why: ownNetworkWhy, script: waitUp + served + `cat > n.conf <<X
worker_processes 2; pid n.pid; error_log stderr; daemon off; events {}
http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  server { listen 127.0.0.1:8080; root www; location /app { proxy_pass http://unix:$PWD/app.sock; } } }
X
node -e 'require("http").createServer((q, r) => r.end("node " + q.url)).listen("app.sock")' & nginx -p . -e stderr -c n.conf & server=$!
await curl -sSf http://127.0.0.1:8080/; await curl -sSf http://127.0.0.1:8080/app; curl -sS http://127.0.0.1:8080/app/x; nginx -p . -e stderr -c n.conf -s quit; wait $server`, says: "node /app/x"},
	{name: "php serves", needs: "php curl", layer: anyNetwork, why: ownNetworkWhy, script: waitUp + `echo '<?php session_save_path("."); session_start(); echo "php ", array_sum(json_decode(file_get_contents("php://input")));' > index.php; ` +
		`PHP_CLI_SERVER_WORKERS=2 php -S 127.0.0.1:8082 2> log & server=$!; await curl -sf -d '[1]' http://127.0.0.1:8082/; curl -sS -d '[1, 41]' http://127.0.0.1:8082/`, says: "php 42"},
	{name: "python serves TLS", needs: "python3 openssl curl", layer: anyNetwork, why: ownNetworkWhy, script: waitUp + served + `openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null; python3 -c '
import http.server, ssl
s = http.server.ThreadingHTTPServer(("127.0.0.1", 8443), http.server.SimpleHTTPRequestHandler); c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain("c", "k"); s.socket = c.wrap_socket(s.socket, server_side=True); s.serve_forever()' 2> log & server=$!; await curl -sf --cacert c https://localhost:8443/; curl -sS --cacert c https://localhost:8443/www/`, says: "A page"},
	{name: "supervisord", needs: "supervisord supervisorctl", layer: "notify", why: noSocketBroker, script: waitUp + `cat > s.conf <<X
[unix_http_server]
file=s.sock
[supervisord]
pidfile=s.pid
logfile=s.log
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://s.sock
[program:worker]
command=sh -c 'echo up >> up; exec sleep 999'
process_name=w%(process_num)s
numprocs=3
startsecs=0
X
supervisord -n -c s.conf >/dev/null & server=$!; three() { test "$(cat up | wc -l)" = "$1"; }; await three 3; supervisorctl -c s.conf status; supervisorctl -c s.conf restart worker:w1; await three 4; supervisorctl -c s.conf shutdown; wait $server`, says: "w2                        RUNNING"},
	{name: "node cluster", needs: "node", layer: anyNetwork, why: ownNetworkWhy, script: `cat > c.js <<'X'
const cluster = require("cluster"), http = require("http");
if (!cluster.isPrimary) return http.createServer((q, r) => r.end("" + cluster.worker.id)).listen(8083, "127.0.0.1");
let up = 0; const seen = new Set();
for (let i = 0; i < 2; i++) cluster.fork();
cluster.on("listening", async () => {
  if (++up < 2) return;
  while (seen.size < 2) await new Promise(done => http.get({port: 8083, host: "127.0.0.1", agent: false}, r => r.on("data", d => seen.add("" + d)).on("end", done)));
  console.log("workers", [...seen].sort().join(" ")); cluster.disconnect();
});
X
node c.js`, says: "workers 1 2"},
	{name: "socat", needs: "socat", layer: "notify", why: noSocketBroker, script: waitUp + `socat UNIX-LISTEN:s.sock,fork EXEC:cat & server=$!; await test -S s.sock; for i in 1 2; do echo "line $i" | socat -t 10 - UNIX-CONNECT:s.sock; done`, says: "line 2"},
	{name: "git daemon", needs: "git", layer: anyNetwork, why: ownNetworkWhy, script: waitUp + `mkdir srv; git init -q --bare srv/r.git; git daemon --reuseaddr --listen=127.0.0.1 --port=8085 --base-path="$PWD/srv" --export-all --enable=receive-pack 2> log & server=$!; ` +
		`mkdir w; cd w; ` + repo + `u=git://127.0.0.1:8085/r.git; await git ls-remote $u; git push -q $u HEAD:main; cd ..; git clone -q $u copy; cat copy/a`, says: "one"},
	{name: "w3m reads a page", needs: "w3m python3 curl", layer: anyNetwork, why: ownNetworkWhy, script: waitUp + served + `mkdir home; python3 -m http.server -d www -b 127.0.0.1 8086 2> log & server=$!; await curl -sf http://127.0.0.1:8086/; w3m -dump http://127.0.0.1:8086/`, says: "A page\n\nlink"},
	{name: "chromium draws a page", needs: "chromium", optional: true, layer: "mountns", why: noShm, script: served + `chromium --headless --no-sandbox --disable-gpu --user-data-dir="$TMPDIR/c" --dump-dom "file://$PWD/www/index.html" 2> log || { cat log; false; }`, says: "<h1>A page</h1>"},
	{name: "chromium in its own sandbox", needs: "chromium", optional: true, script: `chromium --headless --disable-gpu --user-data-dir="$TMPDIR/c" --dump-dom about:blank`, says: "No usable sandbox",
		rule: noNamespaces, attack: "unshare: user and mount namespace"},
}
