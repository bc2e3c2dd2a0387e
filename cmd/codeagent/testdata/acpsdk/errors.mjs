// Malformed messages are answered by errors, and the agent works on.
import { assert, say, start, steps, work } from "./lib.mjs";

const editor = await start();
const lines = new Map();
let rest = "";
editor.process.stdout.on("data", (chunk) => {
  const all = (rest + chunk).split("\n");
  rest = all.pop();
  for (const line of all) {
    const message = JSON.parse(line);
    if (message.error) lines.set(JSON.stringify(message.id), message.error.code);
  }
});
const { sessionId } = await editor.open();
const write = (line) => editor.process.stdin.write(Buffer.isBuffer(line) ? line : line + "\n");
const ask = (id, method, params) => JSON.stringify({ jsonrpc: "2.0", id, method, params });
write(ask("a", "no/such", {}));
write(ask("b", "session/new", { cwd: "relative", mcpServers: [] }));
write(ask("c", "session/new", { cwd: work }));
write(ask("d", "session/prompt", { sessionId: "absent", prompt: [] }));
write(ask("e", "session/prompt", { sessionId, prompt: [{ text: "no type" }] }));
write(ask("f", "session/prompt", { sessionId, prompt: [{ type: "audio", data: "", mimeType: "audio/wav" }] }));
write(ask("g", "session/prompt", [1]));
write(ask("h", "session/set_config_option", { sessionId, configId: "approvals", value: true, type: "boolean" }));
write(ask("i", "authenticate", { methodId: "x" }));
write(ask("j", "no/such", { x: "a".repeat(12 << 20) }));
write(ask("k", "session/new", { cwd: `${work}/nothing here`, mcpServers: [] }));
write(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":"l","method":"'), Buffer.from([0xff]), Buffer.from('"}\n')]));
write(JSON.stringify({ jsonrpc: "2.0", id: 12345, result: { outcome: { outcome: "selected", optionId: "once" } } }));
const want = { a: -32601, b: -32602, c: -32602, d: -32002, e: -32602, f: -32602, g: -32602, h: -32602, i: -32602, j: -32601, k: -32602 };
// The SDK logs answers to requests that it has not sent: it sees none of these.
const seen = () => Object.keys(want).every((id) => lines.has(JSON.stringify(id)));
while (!seen()) await new Promise((resolve) => editor.process.stdout.once("data", resolve));
for (const [id, code] of Object.entries(want)) assert.equal(lines.get(JSON.stringify(id)), code, id);

// What is no message has no ID.
while (!lines.has("null")) await new Promise((resolve) => editor.process.stdout.once("data", resolve));
assert.equal(lines.get("null"), -32700);
lines.delete("null");
write("{nope");
while (!lines.has("null")) await new Promise((resolve) => editor.process.stdout.once("data", resolve));
assert.equal(lines.get("null"), -32700);
lines.delete("null");
write("[" + ask("z", "session/list", {}) + "]");
while (!lines.has("null")) await new Promise((resolve) => editor.process.stdout.once("data", resolve));
assert.equal(lines.get("null"), -32600);
assert.ok(!lines.has('"z"'));
assert.equal((await editor.prompt(sessionId, steps(say("still here")))).stopReason, "end_turn");
await editor.end();
