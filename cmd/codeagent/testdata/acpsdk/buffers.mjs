// A file with changes that are not saved is read as the editor has it; edits and commands see the disk.
import { assert, fs, out, read, say, shell, start, steps, work } from "./lib.mjs";

const file = `${work}/open.txt`;
const secret = `${out}/hidden/secret.txt`;
fs.writeFileSync(file, "saved\n");
fs.mkdirSync(`${out}/hidden`, { recursive: true });
fs.writeFileSync(secret, "on disk\n");
fs.writeFileSync(`${work}/plain.txt`, "the same\n");
const contents = (editor, id) => editor.of(id, "tool_call_update").map((u) => JSON.stringify(u.content ?? ""));

let editor = await start({ buffers: { [file]: "not saved\nyet\n", [secret]: "buffer" } }, ["-c", `sandbox.deny_read=["${out}/hidden"]`]);
let { sessionId } = await editor.open();
await editor.prompt(sessionId, steps(read("open.txt"), read("plain.txt"), read(secret), shell("cat open.txt"), { seen: true }));
assert.deepEqual(editor.reads.map((r) => [r.sessionId, r.path]), [[sessionId, file], [sessionId, `${work}/plain.txt`]], "a file that the policy hides was asked for");
const seen = editor.text(sessionId);
assert.ok(seen.includes("not saved"), "the buffer was not read");
assert.ok(seen.includes("unsaved changes"), "the model is not told");
assert.ok(contents(editor, sessionId).some((c) => c.includes('"text":"```\\nsaved\\n```"')), "cat did not read the disk");
assert.equal(fs.readFileSync(file, "utf8"), "saved\n");
await editor.end();

// An editor that does not offer it is never asked.
editor = await start();
({ sessionId } = await editor.open());
await editor.prompt(sessionId, steps(read("open.txt"), say("x")));
assert.equal(editor.reads, undefined);
await editor.end();
