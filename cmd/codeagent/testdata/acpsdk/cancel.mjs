// A cancel kills the command with all that it started; a cancel right behind its prompt counts, and one
// while a question is open answers it with no.
import { assert, fs, methods, out, say, shell, start, steps, wish } from "./lib.mjs";

const editor = await start();
const { sessionId } = await editor.open();
const cancel = () => editor.agent.notify(methods.agent.session.cancel, { sessionId });
const alive = (pid) => fs.existsSync(`/proc/${pid}`) && !fs.readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");

let running = editor.prompt(sessionId, steps(shell("sleep 3051 & echo begun; wait"), say("never")));
await editor.until(() => JSON.stringify(editor.of(sessionId, "tool_call_update")).includes("begun"));
const find = () => fs.readdirSync("/proc").filter((p) => /^\d+$/.test(p)).find((p) => {
  try {
    return fs.readFileSync(`/proc/${p}/cmdline`, "utf8") === "sleep\u00003051\u0000";
  } catch {
    return false;
  }
});
while (!find()) await new Promise(setImmediate); // the shell has forked and the child not become sleep yet
const sleeper = find();
await cancel();
assert.equal((await running).stopReason, "cancelled");
assert.equal(editor.call(sessionId, () => true).status, "failed");
assert.ok(!alive(sleeper), "the command still runs");
assert.ok(!editor.text(sessionId).includes("never"));

running = editor.prompt(sessionId, steps(shell("sleep 3053"), say("too late")));
await cancel();
assert.equal((await running).stopReason, "cancelled");

// Two prompts wait, and both are cancelled.
const both = [editor.prompt(sessionId, steps(shell("sleep 3052"))), editor.prompt(sessionId, steps(say("x")))];
await cancel();
assert.deepEqual((await Promise.all(both)).map((r) => r.stopReason), ["cancelled", "cancelled"]);

// The question is withdrawn, and a yes that comes later opens nothing.
let asked;
const open = new Promise((resolve) => (asked = resolve));
editor.answer = (_, signal) => new Promise((resolve) => {
  signal.addEventListener("abort", () => resolve("once"));
  asked();
});
running = editor.prompt(sessionId, steps(wish(`${out}/late`), say("never")));
await open;
await cancel();
assert.equal((await running).stopReason, "cancelled");
assert.ok(!fs.existsSync(`${out}/late`));

// The session works on.
assert.equal((await editor.prompt(sessionId, steps(say("still here")))).stopReason, "end_turn");
assert.ok(editor.text(sessionId).includes("still here"));
await editor.end();
