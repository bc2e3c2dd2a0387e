// Sandbox modes and the network: what commands may do, tried by commands.
import fs from "node:fs";
import path from "node:path";
import { assert, thread, steps, shell, say, items } from "./lib.mjs";

fs.mkdirSync("work");
fs.mkdirSync("outside");
const [host, port] = process.env.DOOR.split(":");
const tries = [`echo x > inside`, `echo x > ${path.resolve("outside")}/file`, `exec 3<>/dev/tcp/${host}/${port}; head -1 <&3`];

async function can(options) {
  for (const file of ["work/inside", "outside/file"]) fs.rmSync(file, { force: true });
  const turn = await thread({ workingDirectory: "work", ...options }).run(steps(...tries.map((c) => shell(c)), say("done")));
  assert.equal(turn.finalResponse, "done", "refusals do not end the turn");
  const done = items(turn, "command_execution").map((i) => i.exit_code === 0);
  assert.equal(fs.existsSync("work/inside"), done[0]);
  assert.equal(fs.existsSync("outside/file"), done[1]);
  return done;
}

assert.deepEqual(await can({ sandboxMode: "read-only" }), [false, false, false]);
assert.deepEqual(await can({ sandboxMode: "workspace-write" }), [true, false, false]);
assert.deepEqual(await can({ sandboxMode: "workspace-write", networkAccessEnabled: false }), [true, false, false]);
assert.deepEqual(await can({ sandboxMode: "workspace-write", networkAccessEnabled: true }), [true, false, true]);
assert.deepEqual(await can({ sandboxMode: "danger-full-access" }), [true, true, true]);
// In Codex the network and further directories belong to workspace-write.
assert.deepEqual(await can({ sandboxMode: "read-only", networkAccessEnabled: true, additionalDirectories: ["outside"] }), [false, false, false]);
