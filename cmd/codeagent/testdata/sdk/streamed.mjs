// runStreamed: the events in their order, each of the shape that the SDK's types promise.
import fs from "node:fs";
import { assert, thread, steps, say, shell, events } from "./lib.mjs";

const patch = "*** Begin Patch\n*** Add File: made.txt\n+text\n*** End Patch";
const all = await events(thread(), steps(
  { reasoning: "I think.", ...shell("echo one") },
  shell("exit 7"),
  { tool: "apply_patch", args: { patch } },
  { tool: "apply_patch", args: { patch: "*** Begin Patch\n*** Update File: absent.txt\n@@\n-a\n+b\n*** End Patch" } },
  { tool: "update_plan", args: { plan: [{ step: "first", status: "completed" }, { step: "second", status: "in_progress" }] } },
  { tool: "update_plan", args: { plan: [{ step: "first", status: "completed" }, { step: "second", status: "completed" }] } },
  { tool: "read_file", args: { path: "made.txt" } },
  shell("sleep 60", { background: true, yield_time_ms: 100 }),
  say("done"),
));
assert.equal(fs.readFileSync("made.txt", "utf8"), "text\n");

const types = all.map((e) => e.type);
assert.deepEqual(types.slice(0, 2), ["thread.started", "turn.started"]);
assert.equal(types.at(-1), "turn.completed");
const of = (kind, type) => all.filter((e) => e.type === kind && e.item.type === type).map((e) => e.item);

assert.deepEqual(of("item.completed", "reasoning").map((i) => i.text), ["I think."]);
assert.deepEqual(of("item.completed", "agent_message").map((i) => i.text), ["done"]);
const started = of("item.started", "command_execution");
const ended = of("item.completed", "command_execution");
assert.deepEqual(started.slice(0, 2).map((i) => i.status), ["in_progress", "in_progress"]);
assert.deepEqual(ended.slice(0, 2).map((i) => [i.command, i.exit_code, i.status]), [["echo one", 0, "completed"], ["exit 7", 7, "failed"]]);
assert.equal(ended[0].id, started[0].id);
assert.equal(ended[0].aggregated_output, "one\n");
const edits = of("item.completed", "file_change");
assert.deepEqual(edits.map((i) => i.status), ["completed", "failed"]);
assert.deepEqual(edits[0].changes.map((c) => [c.path.split("/").at(-1), c.kind]), [["made.txt", "add"]]);
const plans = ["item.started", "item.updated", "item.completed"].map((kind) => of(kind, "todo_list").map((i) => i.items.map((s) => s.completed)));
assert.deepEqual(plans, [[[true, false]], [[true, true]], [[true, true]]]);

// Each item ends once, and what started has ended.
const ids = (kind) => all.filter((e) => e.type === kind).map((e) => e.item.id);
assert.equal(new Set(ids("item.completed")).size, ids("item.completed").length);
for (const id of ids("item.started")) assert.ok(ids("item.completed").includes(id), `${id} has no end`);
