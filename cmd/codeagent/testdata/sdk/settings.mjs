// Every option at once; settings that codeagent does not know; limits that it cannot hold.
import fs from "node:fs";
import { assert, codex, thread, steps, say, shell, items, received } from "./lib.mjs";

const all = thread({ model: "scripted", threadSource: "user", sandboxMode: "workspace-write", workingDirectory: process.cwd(), skipGitRepoCheck: true,
  modelReasoningEffort: "minimal", networkAccessEnabled: false, webSearchMode: "disabled", approvalPolicy: "never", additionalDirectories: [process.env.OUT] });
const turn = await all.run(steps(say("first")), { cyberAccessProgram: "standard" });
assert.deepEqual(turn.items.map((i) => i.type), ["agent_message"], "nothing to warn of");
assert.equal((await all.run(steps(say("second")), { cyberAccessProgram: "standard" })).finalResponse, "second");

// Unknown settings: a warning in the stream, and the turn completes.
const unknown = codex({ config: { show_raw_agent_reasoning: true, features: { some_feature: true }, tui: { notifications: ["a"] } }, configOverrides: ["a.b={c=1}", "hide_agent_reasoning=true"] });
const warned = await unknown.startThread({ model: "scripted", webSearchMode: "live", modelReasoningEffort: "persistent" }).run(steps(say("done")), { cyberAccessProgram: "daybreak_blue" });
assert.equal(warned.finalResponse, "done");
const words = items(warned, "error").map((i) => i.message).join("\n");
for (const name of ["show_raw_agent_reasoning", "features.some_feature", "tui.notifications", "a.b.c", "hide_agent_reasoning", "web_search", "persistent", "daybreak_blue"]) {
  assert.ok(words.includes(name), `no warning about ${name}: ${words}`);
}

// A limit that codeagent cannot hold, the README's example: it does not start.
const limited = codex({ config: { default_permissions: "audit" }, configOverrides: ['permissions.audit.filesystem={":root"="read","/path/to/project/.env"="deny"}'] });
await assert.rejects(limited.startThread().run(steps(say("never"))), /exited with code 2: .*default_permissions/s);

// codeagent's own settings.
fs.writeFileSync(".env", "hidden text");
const own = codex({ config: { sandbox: { deny_read: ["**/.env"] } } }).startThread({ model: "scripted" });
const read = await own.run(steps(shell("cat .env"), say("done")));
assert.doesNotMatch(JSON.stringify(items(read, "command_execution")), /hidden text/);
assert.equal(items(read, "command_execution")[0].status, "failed");

// A value that no setting takes, and an empty prompt.
await assert.rejects(codex({ config: { approval_policy: "sometimes" } }).startThread().run(steps(say("never"))), /sometimes/);
await assert.rejects(thread().run(""), /no prompt/);
