// Questions are asked and answered both ways, and an invalid answer opens nothing.
import { assert, fs, out, patch, say, start, steps, wish } from "./lib.mjs";

const file = `${out}/granted`;
const refuse = () => { throw new Error("no window"); };
for (const [answer, written] of [["once", true], ["session", true], ["no", false], ["stop", false], ["cancelled", false], ["allow", false], ["1", false], [refuse, false]]) {
  fs.rmSync(file, { force: true });
  const editor = await start({ answer });
  const { sessionId } = await editor.open();
  const { stopReason } = await editor.prompt(sessionId, steps(wish(file), say("That was it.")));
  assert.equal(stopReason, answer === "stop" ? "cancelled" : "end_turn", String(answer));
  assert.equal(editor.asked.length, 1);
  const [question] = editor.asked;
  assert.equal(question.sessionId, sessionId);
  // In words, in data, and as options with their kinds.
  const { text } = question.toolCall.content[0].content;
  assert.match(text, new RegExp(`^allows: write ${file}$`, "m"));
  assert.match(text, /^ {2}> bash writes granted into the folder that you named$/m);
  const meta = question._meta["codeagent/permission"];
  assert.deepEqual(meta.allows, [`write ${file}`]);
  const kinds = Object.fromEntries(question.options.map((o) => [o.optionId, o.kind]));
  assert.equal(kinds.once, "allow_once");
  assert.equal(kinds.session, "allow_always");
  assert.equal(kinds.always, "allow_always");
  assert.equal(kinds.no, "reject_once");
  assert.ok(meta.rule.join("\n").includes(file), "the rule that always saves is not there");
  assert.match(text, /^always means:\n {2}\+ From now on commands and edits may read and write [\s\S]*^always saves this rule:$/m);
  assert.equal(fs.existsSync(file), written, String(answer));
  // The question waits before the call runs: pending, then in progress, then its end.
  const states = [...editor.of(sessionId, "tool_call"), ...editor.of(sessionId, "tool_call_update")].map((u) => u.status).filter(Boolean);
  assert.deepEqual(states, written ? ["in_progress", "pending", "in_progress", "completed"] : ["in_progress", "pending", "failed"]);
  await editor.end();
}

// A question about an edit shows the edit: a diff of each file first, then the words.
{
  const target = `${out}/edited`;
  fs.writeFileSync(target, "one\ntwo\n");
  const edit = patch(`*** Update File: ${target}\n@@\n-two\n+2`);
  edit.args.justification = "edited is the file outside the workspace that you named";
  const editor = await start({ answer: "once" });
  const { sessionId } = await editor.open();
  await editor.prompt(sessionId, steps(edit, say("Done.")));
  assert.equal(editor.asked.length, 1);
  const { toolCall } = editor.asked[0];
  assert.deepEqual(toolCall.content[0], { type: "diff", path: target, oldText: "one\ntwo\n", newText: "one\n2\n" });
  assert.match(toolCall.content[1].content.text, new RegExp(`^allows: write ${target}$`, "m"));
  assert.deepEqual(toolCall.locations, [{ path: target }]);
  assert.equal(toolCall.kind, "edit");
  assert.equal(fs.readFileSync(target, "utf8"), "one\n2\n");
  await editor.end();
}
