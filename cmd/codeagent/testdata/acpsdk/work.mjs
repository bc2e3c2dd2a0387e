// What a turn shows: edits as diffs, the plan, the fill of the context, output, and commands.
import { assert, fs, methods, patch, say, shell, start, steps, work } from "./lib.mjs";

const editor = await start();
const { sessionId } = await editor.open();
fs.writeFileSync(`${work}/old.txt`, "one\ntwo\nthree\n");
const plan = { tool: "update_plan", args: { plan: [{ step: "Look", status: "completed" }, { step: "Write", status: "in_progress" }] } };
await editor.prompt(sessionId, steps(
  plan, patch("*** Update File: old.txt\n@@\n one\n-two\n+2\n three\n*** Add File: dir/new.txt\n+new"), shell("echo printed; exit 3"),
  patch("*** Delete File: old.txt"), say("Done."),
));
assert.deepEqual(editor.of(sessionId, "plan").at(-1).entries, [
  { content: "Look", priority: "medium", status: "completed" }, { content: "Write", priority: "medium", status: "in_progress" },
]);
const edits = editor.of(sessionId, "tool_call").filter((c) => c.kind === "edit").map((c) => editor.call(sessionId, (d) => d.toolCallId === c.toolCallId));
assert.deepEqual(edits[0].content.filter((c) => c.type === "diff"), [
  { type: "diff", path: `${work}/old.txt`, oldText: "one\ntwo\nthree\n", newText: "one\n2\nthree\n" },
  { type: "diff", path: `${work}/dir/new.txt`, oldText: null, newText: "new\n" },
]);
assert.deepEqual(edits[0].locations, [{ path: `${work}/old.txt`, line: 1 }, { path: `${work}/dir/new.txt`, line: 1 }]);
assert.deepEqual(edits[1].content.filter((c) => c.type === "diff"), [{ type: "diff", path: `${work}/old.txt`, oldText: "one\n2\nthree\n", newText: "" }]);
const command = editor.call(sessionId, (c) => c.kind === "execute");
assert.equal(command.status, "failed");
assert.equal(command.rawInput.command, "echo printed; exit 3");
assert.equal(command._meta["codeagent/result"].exit, 3);
assert.ok(JSON.stringify(command.content).includes("printed"));
const usage = editor.of(sessionId, "usage_update").at(-1);
assert.ok(usage.used > 0 && usage.size >= usage.used);

// Commands: those that are offered run from a prompt, and are no messages to the model.
const offered = editor.of(sessionId, "available_commands_update").at(-1).availableCommands;
for (const name of ["status", "permissions", "compact", "undo", "ps", "sandbox", "review", "tidy"]) {
  assert.ok(offered.some((c) => c.name === name), name);
}
assert.ok(offered.every((c) => c.description && (c.input === undefined || c.input.hint)));
const run = async (text) => {
  const before = editor.text(sessionId).length;
  assert.equal((await editor.prompt(sessionId, text)).stopReason, "end_turn");
  return editor.text(sessionId).slice(before);
};
assert.match(await run("/status"), /sandbox +workspace-write/);
assert.match(await run("/sandbox"), new RegExp(`Commands may write\n  .*${work.split("/").at(-1)}`));
assert.match(await run("/undo preview"), /recreate +\S*new.txt|remove +\S*new.txt|old\.txt/);
assert.match(await run("/undo"), /old\.txt/);
assert.equal(fs.readFileSync(`${work}/old.txt`, "utf8"), "one\ntwo\nthree\n");
assert.ok(!fs.existsSync(`${work}/dir/new.txt`));
assert.match(await run("/undo"), /nothing to undo/);
assert.match(await run("/permissions never"), /approvals: never/);
assert.equal(editor.of(sessionId, "current_mode_update").at(-1).currentModeId, "never");
assert.match(await run("/permissions nonsense"), /takes one of/);
// What an editor attaches, before or after, is no argument of a command, and goes to the model with a prompt.
const file = { type: "resource_link", uri: `file://${work}/a%20file.txt`, name: "a file.txt" };
const attached = async (...prompt) => {
  const before = editor.text(sessionId).length;
  await editor.agent.request(methods.agent.session.prompt, { sessionId, prompt });
  return editor.text(sessionId).slice(before);
};
assert.match(await attached({ type: "text", text: "/status" }, file), /sandbox +workspace-write/);
assert.match(await attached({ type: "resource", resource: { uri: file.uri, text: "one" } }, { type: "text", text: "/status" }), /sandbox +workspace-write/);
assert.match(await attached(file, { type: "text", text: `/tidy ${steps(say("tidied again"))}` }), /tidied again/);
// The user's own prompt gets its argument and goes to the model.
assert.match(await run(`/tidy ${steps(say("tidied"), say("A summary."))}`), /tidied/);
assert.match(await run("/compact keep the plan"), /the conversation was summarized for the model/);
// A text that only begins like a command is a message.
assert.match(await run(`/nosuch thing\n${steps(say("a message"))}`), /a message/);
await editor.agent.request(methods.agent.session.close, { sessionId });
await editor.end();

// Load replays what the summary has replaced for the model, too.
const later = await start();
await later.agent.request(methods.agent.session.load, { sessionId, cwd: work, mcpServers: [] });
assert.ok(later.text(sessionId, "user_message_chunk").includes("Delete File: old.txt"), "the first message is missing");
assert.ok(later.text(sessionId).includes("Done.") && later.text(sessionId).includes("tidied"));
assert.equal(later.of(sessionId, "plan").at(-1).entries.length, 2);
assert.deepEqual(later.of(sessionId, "tool_call").find((c) => c.kind === "edit").locations.map((l) => l.path), [`${work}/old.txt`, `${work}/dir/new.txt`]);
await later.end();
