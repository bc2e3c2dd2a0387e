package conversation

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// questionServer returns what makes the files of the server anew. It runs what it reads, like
// deploy.sh of the stage, and its tool reads a file. A line in the pipe makes it describe the tool in
// another way, another line ends it.
func questionServer(t *testing.T, work string) (placed func()) {
	const script = `echo fine >> "$HOME/ran"
. srv/sub/settings
(while read -r x && [ "$x" = other ]; do
	echo other > "$HOME/said"
	echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
done < srv/sub/orders; kill -9 $$) &
while read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}
	case $line in
	*'"method":"initialize"'*) r='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}';;
	*'"method":"tools/list"'*) r='"result":{"tools":[{"name":"deploy","description":"deploys'$(cat "$HOME/said" 2>/dev/null)'","inputSchema":{"type":"object"}}]}';;
	*'"method":"tools/call"'*) f=${line#*'"file":"'}; r='"result":{"content":[{"type":"text","text":"'$(cat "${f%%\"*}")'"}]}';;
	*'"id"'*) r='"error":{"code":-32601,"message":"no such method"}';;
	*) continue;;
	esac
	echo '{"jsonrpc":"2.0","id":'$id','$r'}'
done
`
	return func() {
		ran, _ := filepath.Glob(work + "/../own/*/srv.editor/*/[rs]a[ni]*")
		for _, name := range append(ran, work+"/srv") {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
		err := os.MkdirAll(work+"/srv/sub", 0o755)
		for name, text := range map[string]string{"deploy.sh": script, "settings": ":\n", "note": "theirs\n"} {
			if err == nil {
				err = os.WriteFile(work+"/srv/sub/"+name, []byte(text), 0o755)
			}
		}
		if err == nil {
			err = syscall.Mkfifo(work+"/srv/sub/orders", 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
