// resumeThread: by the ID, in another process of the SDK, and right after a turn that broke off.
import { assert, codex, thread, steps, say, shell, report, received } from "./lib.mjs";

const t = thread();
await t.run(steps(say("remember me")));
const again = codex().resumeThread(t.id, { model: "scripted" });
assert.equal(again.id, t.id);
const got = await received(again);
assert.equal(got.turns, 2);
assert.match(got.said, /remember me/);
assert.equal(again.id, t.id);

// A failed turn: the SDK ends codeagent without waiting for it. The next turn comes at once.
await assert.rejects(t.run(steps({ status: 400 })), /scripted failure/);
assert.equal((await received(t)).turns, 4);

// The reader left the stream: codeagent ends, and the thread goes on.
for await (const event of (await t.runStreamed(steps(shell("sleep 300")))).events) {
  if (event.type === "item.started") break;
}
assert.ok((await received(t)).turns > 4);

// A thread that does not exist, with a prompt that is larger than a pipe.
await assert.rejects(codex().resumeThread("0123456789abcdef").run(steps(report) + " ".repeat(1 << 20)), /exited with code 2: .*0123456789abcdef/s);
