// An MCP server that the editor hands in: its tools, its refusals, and its question to the user.
import { assert, say, start, steps, work } from "./lib.mjs";

const call = (tool, args = {}) => ({ tool: `fake__${tool}`, args });
const server = { name: "fake", command: process.env.FAKEMCP, args: [], env: [{ name: "KEY", value: "k" }] };
const forms = [];
const editor = await start({
  // The tool may run; the write that its server then tries may not.
  answer: ({ _meta }) => (_meta["codeagent/permission"].allows.length ? "no" : "once"), capabilities: { elicitation: { form: {} } },
  form: (params) => (forms.push(params), { action: "accept", content: { colour: "green" } }),
});
assert.deepEqual(editor.info.agentCapabilities.mcpCapabilities.http, true);
const { sessionId } = await editor.open(work, [server]);
await editor.prompt(sessionId, steps(call("write", { path: `${process.env.HOME}/planted` }), call("ask"), say("asked")));
const calls = editor.of(sessionId, "tool_call").map((c) => editor.call(sessionId, (d) => d.toolCallId === c.toolCallId));
assert.deepEqual(calls.map((c) => [c.rawInput.server, c.rawInput.tool, c.status]), [["fake", "write", "failed"], ["fake", "ask", "completed"]]);
assert.equal(forms.length, 1);
assert.match(forms[0].message, /^The MCP server fake asks; these are its words, .*\n> Which colour\?/);
assert.deepEqual(forms[0].requestedSchema, { type: "object", properties: { colour: { type: "string", title: "colour" } }, required: ["colour"] });
assert.ok(JSON.stringify(calls[1].content).includes("green"));

// /mcp shows it.
const run = async (text) => {
  const before = editor.text(sessionId).length;
  await editor.prompt(sessionId, text);
  return editor.text(sessionId).slice(before);
};
assert.match(await run("/mcp"), /fake {2}running/);
assert.match(await run("/mcp fake"), /Tools, in the server's words/);

// An answer that does not fit is a no, and so is an editor without forms.
editor.form = () => ({ action: "accept", content: { colour: 5 } });
await editor.prompt(sessionId, steps(call("ask"), say("asked")));
assert.ok(JSON.stringify(editor.updates).includes("does not fit its question"));
await editor.end();

const bare = await start({ answer: "once" });
const { sessionId: other } = await bare.open(work, [server]);
await bare.prompt(other, steps(call("ask"), say("asked")));
assert.ok(bare.text(other).includes("asks for input"));
// A server that does not start is reported, and the session works.
const { sessionId: broken } = await bare.open(work, [{ ...server, name: "absent", command: "/nothing/here" }]);
await bare.prompt(broken, steps(say("still here")));
assert.ok(bare.text(broken).includes("still here") && bare.text(broken).includes("absent"));
await bare.end();
