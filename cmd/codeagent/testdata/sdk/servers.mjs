// MCP servers that the program configures, and objects in its settings: the SDK passes each entry by itself.
import { assert, codex, steps, say, shell, items } from "./lib.mjs";

const serve = `
const tool = { name: "add", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
let rest = "";
process.stdin.on("data", (data) => {
  const lines = (rest + data).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const m = JSON.parse(line);
    const answers = {
      initialize: () => ({ protocolVersion: m.params.protocolVersion, serverInfo: { name: "sums", version: "1" }, capabilities: { tools: {} } }),
      "tools/list": () => ({ tools: [tool] }),
      "tools/call": () => ({ content: [{ type: "text", text: process.env.UNIT + (m.params.arguments.a + m.params.arguments.b) }] }),
    };
    if (m.id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id: m.id, ...(answers[m.method] ? { result: answers[m.method]() } : { error: { code: -32601, message: "no" } }) }));
  }
});`.replaceAll("\n", " ");
const client = codex({
  config: {
    mcp_servers: {
      sums: { command: "node", args: ["-e", serve], env: { UNIT: "$ " }, startup_timeout_sec: 30, required: true },
      unused: { command: "/no/such/program", enabled: false },
    },
    shell_environment_policy: { set: { GREETING: "hello from the program" } },
  },
});
const turn = await client.startThread({ model: "scripted" }).run(steps({ tool: "sums__add", args: { a: 2, b: 3 } }, shell("echo $GREETING"), say("done")));
assert.deepEqual(items(turn, "error"), []);
const [call] = items(turn, "mcp_tool_call");
assert.equal(call.status, "completed");
assert.equal(call.server, "sums");
assert.equal(call.tool, "add");
assert.deepEqual(call.arguments, { a: 2, b: 3 });
assert.match(call.result.content[0].text, /^\$ 5$/);
assert.ok("structured_content" in call.result);
assert.match(items(turn, "command_execution")[0].aggregated_output, /^hello from the program$/m);
