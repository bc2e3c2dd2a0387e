// Directories: where commands run, which they may write, and no need of a repository.
import fs from "node:fs";
import path from "node:path";
import { assert, thread, steps, shell, say, items, received } from "./lib.mjs";

for (const dir of ["work", "more", "third", "other"]) fs.mkdirSync(dir);
const writes = (...dirs) => steps(...dirs.map((d) => shell(`echo x > ${path.resolve(d)}/file`)), say("done"));

const t = thread({ workingDirectory: path.resolve("work"), additionalDirectories: [path.resolve("more"), "third"], skipGitRepoCheck: true });
const turn = await t.run(writes("work", "more", "third", "other"));
assert.deepEqual(items(turn, "command_execution").map((i) => i.status), ["completed", "completed", "completed", "failed"]);
assert.deepEqual(["work", "more", "third", "other"].map((d) => fs.existsSync(`${d}/file`)), [true, true, true, false]);
const where = await t.run(steps(shell("pwd"), say("done")));
assert.equal(items(where, "command_execution")[0].aggregated_output.trim(), fs.realpathSync("work"));

// Without a working directory it is the program's.
const here = await thread().run(steps(shell("pwd"), say("done")));
assert.equal(items(here, "command_execution")[0].aggregated_output.trim(), process.cwd());

await assert.rejects(thread({ workingDirectory: "absent" }).run(steps(say("never"))), /exited with code 2: .*absent/s);
