// Modes and config options are in step; an answer has all options; what is chosen counts at once.
import { assert, failure, fs, methods, out, say, shell, start, steps, wish, work } from "./lib.mjs";

const editor = await start({}, ["--model", "other"]);
const { sessionId, modes, configOptions } = await editor.open();
const named = (list, id) => list.find((o) => o.id === id);
assert.equal(modes.currentModeId, "on-request");
assert.ok(modes.availableModes.map((m) => m.id).includes("read-only"));
assert.deepEqual(configOptions.map((o) => o.id), ["approvals", "sandbox", "model", "effort"]);
assert.deepEqual(configOptions.map((o) => o.category), ["mode", undefined, "model", "thought_level"]);
for (const o of configOptions) assert.ok(o.options.some((v) => v.value === o.currentValue), o.id);

const set = (configId, value) => editor.agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value });
let answer = await set("approvals", "never");
assert.deepEqual(answer.configOptions.map((o) => o.id), ["approvals", "sandbox", "model", "effort"], "not all options");
assert.equal(named(answer.configOptions, "approvals").currentValue, "never");
assert.equal(editor.of(sessionId, "current_mode_update").at(-1).currentModeId, "never");

// It counts: nobody is asked. What the refusal says helps in an editor.
const file = `${out}/never`;
await editor.prompt(sessionId, steps(wish(file), say("refused")));
assert.equal(editor.asked.length, 0);
assert.ok(!fs.existsSync(file));
const words = JSON.stringify(editor.updates);
assert.ok(words.includes("send /permissions on-request"), "no hint for the editor's user");
assert.ok(!words.includes("codeagent exec"), "a hint names flags of codeagent exec");

// The modes of older editors, and the sandbox for writing.
assert.deepEqual(await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: "read-only" }), {});
let options = editor.of(sessionId, "config_option_update").at(-1).configOptions;
assert.equal(named(options, "sandbox").currentValue, "read-only");
assert.equal(named(options, "approvals").currentValue, "never");
await editor.prompt(sessionId, steps(shell("echo x > shut.txt"), say("shut")));
assert.ok(!fs.existsSync(`${work}/shut.txt`), "written in read-only");
await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: "on-request" });
options = editor.of(sessionId, "config_option_update").at(-1).configOptions;
assert.equal(named(options, "sandbox").currentValue, "workspace-write");
await editor.prompt(sessionId, steps(shell("echo x > open.txt"), say("open")));
assert.ok(fs.existsSync(`${work}/open.txt`));

// Another model and effort, behind a prompt that runs: the change waits for its end.
const running = editor.prompt(sessionId, steps(shell("sleep 0.2"), say("before")));
const changed = set("effort", "high");
await running;
assert.equal(named((await changed).configOptions, "effort").currentValue, "high");
const before = editor.text(sessionId).length;
await editor.prompt(sessionId, steps({ report: true }));
assert.equal(JSON.parse(editor.text(sessionId).slice(before)).effort, "high");
// The provider lists its models after the session has begun.
await editor.until(() => editor.of(sessionId, "config_option_update").some((u) => named(u.configOptions, "model").options.length > 1));
const model = named(editor.of(sessionId, "config_option_update").at(-1).configOptions, "model");
assert.equal(model.currentValue, "other");
assert.equal(named((await set("model", "scripted")).configOptions, "model").currentValue, "scripted");
const then = editor.text(sessionId).length;
await editor.prompt(sessionId, steps({ report: true }));
assert.equal(JSON.parse(editor.text(sessionId).slice(then)).model, "scripted");

// What does not exist is an error, and changes nothing.
for (const [id, value] of [["approvals", "always"], ["nothing", "x"], ["sandbox", "danger-full-access"], ["model", "nosuch"]]) {
  assert.equal((await failure(set(id, value))).code, -32602, id);
}
assert.equal((await failure(editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: "yolo" }))).code, -32602);
assert.equal((await failure(editor.agent.request(methods.agent.session.setMode, { sessionId: "absent", modeId: "never" }))).code, -32002);
await editor.end();
