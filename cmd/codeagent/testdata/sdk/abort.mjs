// abort: the signal ends codeagent and the command that runs; the thread can be resumed.
import fs from "node:fs";
import { assert, thread, steps, shell, say, received } from "./lib.mjs";

const t = thread();
const stop = new AbortController();
let id;
await assert.rejects(async () => {
  for await (const event of (await t.runStreamed(steps(shell("echo $$ > pid; while :; do sleep 0.1; date >> alive; done"), say("never")), { signal: stop.signal })).events) {
    if (event.type === "thread.started") id = event.thread_id;
    if (event.type === "item.started" && event.item.type === "command_execution") {
      while (!fs.existsSync("alive")) await new Promise((r) => setTimeout(r, 10));
      stop.abort();
    }
  }
}, { name: "AbortError" });
assert.equal(t.id, id);

// The SDK has seen the end of codeagent's output: no command of it writes any more.
const before = fs.readFileSync("alive", "utf8");
await new Promise((r) => setTimeout(r, 500));
assert.equal(fs.readFileSync("alive", "utf8"), before, "the command still runs");

// run() rejects too, and so does a signal that came before the turn.
const early = new AbortController();
early.abort();
await assert.rejects(thread().run(steps(say("never")), { signal: early.signal }), { name: "AbortError" });

// While the model answers, and while it is silent.
for (const step of [{ text: "slow ".repeat(10000), slow: true }, { silent: true }]) {
  const at = new AbortController();
  setTimeout(() => at.abort(), 300);
  await assert.rejects(thread().run(steps(step), { signal: at.signal }), { name: "AbortError" });
}
assert.equal((await received(t)).turns, 2);
