// run: the answer, the items and the usage of a turn; several turns on one thread.
import { assert, thread, steps, say, shell, report, items, received } from "./lib.mjs";

const t = thread();
assert.equal(t.id, null);
const first = await t.run(steps({ text: "I look.", ...shell("echo out; echo err >&2; exit 3") }, say("done")));
assert.equal(first.finalResponse, "done");
assert.match(t.id, /^[0-9a-f]{16}$/);
assert.deepEqual(items(first, "agent_message").map((i) => i.text), ["I look.", "done"]);
const [command] = items(first, "command_execution");
assert.equal(command.command, "echo out; echo err >&2; exit 3");
assert.match(command.aggregated_output, /out/);
assert.match(command.aggregated_output, /err/);
assert.equal(command.exit_code, 3);
assert.equal(command.status, "failed");
assert.ok(first.usage.input_tokens > 0 && first.usage.output_tokens > 0);

const id = t.id;
const second = JSON.parse((await t.run(steps(report))).finalResponse);
assert.equal(second.turns, 2, "the second turn continues the conversation");
assert.equal(t.id, id);

// Several texts become one prompt, and a long one arrives whole.
const long = "x".repeat(1 << 20);
const joined = await thread().run([{ type: "text", text: steps(report) }, { type: "text", text: "and this: " + long + "." }]);
assert.ok(JSON.parse(joined.finalResponse).length > long.length);
assert.match(JSON.parse(joined.finalResponse).last, /x+\.$/);

// Two runs beside each other are two threads.
const both = [thread(), thread()];
const turns = await Promise.all(both.map((b) => received(b)));
assert.deepEqual(turns.map((b) => b.turns), [1, 1]);
assert.notEqual(both[0].id, both[1].id);
