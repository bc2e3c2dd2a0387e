// Two sessions at once share no folder and no grant; load replays everything before it answers, resume
// nothing; sessions are listed, closed and deleted.
import { assert, failure, fs, methods, out, patch, say, shell, start, steps, wish, work } from "./lib.mjs";

const editor = await start();
const other = `${out}/other`;
fs.mkdirSync(other, { recursive: true });
const one = (await editor.open()).sessionId;
const two = (await editor.open(other)).sessionId;
assert.notEqual(one, two);

editor.answer = "session";
const file = `${out}/shared`;
await editor.prompt(one, steps(wish(file), say("first answer")));
editor.answer = "no";
const [a, b] = await Promise.all([
  editor.prompt(one, steps({ reasoning: "a thought", tool: "shell", args: { command: "pwd" } }, wish(file), patch("*** Add File: made.txt\n+made"), say("one is done"))),
  editor.prompt(two, steps(shell("pwd"), wish(file), say("two is done"))),
]);
assert.deepEqual([a.stopReason, b.stopReason], ["end_turn", "end_turn"]);
assert.deepEqual(editor.asked.map((q) => q.sessionId), [one, two], "a grant of one session counted in the other, or not in its own");
const printed = (id) => JSON.stringify(editor.of(id, "tool_call_update"));
assert.ok(printed(one).includes(work) && !printed(one).includes(other));
assert.ok(printed(two).includes(other));
assert.ok(editor.of(one, "session_info_update").at(-1).title.length > 0);

const { sessions } = await editor.agent.request(methods.agent.session.list, { cwd: other });
assert.deepEqual(sessions.map((s) => s.sessionId), [two]);
assert.equal(sessions[0].cwd, other);
assert.ok(!Number.isNaN(Date.parse(sessions[0].updatedAt)));

// The editor's name of a folder may be a link.
fs.symlinkSync(other, `${out}/link`);
const linked = (await editor.agent.request(methods.agent.session.list, { cwd: `${out}/link` })).sessions;
assert.deepEqual(linked.map((s) => [s.sessionId, s.cwd]), [[two, `${out}/link`]]);

// One that is open is not loaded twice.
await failure(editor.agent.request(methods.agent.session.load, { sessionId: one, cwd: work, mcpServers: [] }));
await editor.agent.request(methods.agent.session.close, { sessionId: one });
assert.equal((await failure(editor.prompt(one, "x"))).code, -32002);
await editor.agent.request(methods.agent.session.delete, { sessionId: "absent" });
const unknown = await failure(editor.agent.request(methods.agent.session.load, { sessionId: "absent", cwd: work, mcpServers: [] }));
assert.equal(unknown.code, -32002);
await editor.end();

const later = await start();
await later.agent.request(methods.agent.session.load, { sessionId: one, cwd: work, mcpServers: [] });
// No update may be missing when load has answered.
assert.ok(later.text(one, "user_message_chunk").includes("one is done"), "the user's message");
assert.ok(later.text(one).includes("first answer") && later.text(one).includes("one is done"));
assert.ok(later.text(one, "agent_thought_chunk").includes("a thought"));
assert.equal(later.of(one, "tool_call").length, 4);
assert.equal(later.call(one, (c) => c.kind === "edit").status, "completed");
const before = later.updates.length;
await later.prompt(one, steps(say("goes on")));
assert.ok(later.updates.length > before && later.text(one).includes("goes on"));
await later.agent.request(methods.agent.session.close, { sessionId: one });

await later.agent.request(methods.agent.session.resume, { sessionId: two, cwd: other, mcpServers: [] });
assert.equal(later.text(two) + later.text(two, "user_message_chunk"), "");
await later.prompt(two, steps(say("resumed")));
assert.ok(later.text(two).includes("resumed") && !later.text(two).includes("two is done"));
await later.agent.request(methods.agent.session.close, { sessionId: two });
await later.agent.request(methods.agent.session.delete, { sessionId: two });
assert.deepEqual((await later.agent.request(methods.agent.session.list, { cwd: other })).sessions, []);
await later.end();
