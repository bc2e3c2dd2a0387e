// Approval policies: nobody is there to ask, so what is not allowed is refused, the model learns
// it, and the turn completes.
import fs from "node:fs";
import { assert, thread, steps, shell, say, items } from "./lib.mjs";

const outside = fs.mkdtempSync(`${process.env.OUT}/approval-`);
for (const [approvalPolicy, inside] of [["never", true], ["on-request", true], ["on-failure", true], ["untrusted", false]]) {
  fs.rmSync("made", { force: true });
  const turn = await thread({ approvalPolicy }).run(steps(
    shell("touch made"),
    shell(`touch ${outside}/file`),
    shell(`touch ${outside}/file`, { sandbox_permissions: "with_additional_permissions", additional_permissions: { write: [outside] }, justification: `touch writes ${outside}/file` }),
    say("done"),
  ));
  assert.equal(turn.finalResponse, "done", approvalPolicy);
  const commands = items(turn, "command_execution");
  assert.deepEqual(commands.map((i) => i.status), [inside ? "completed" : "failed", "failed", "failed"], approvalPolicy);
  assert.ok(commands[2].aggregated_output !== "", "the refused request says why");
  assert.equal(fs.existsSync("made"), inside, approvalPolicy);
  assert.equal(fs.existsSync(`${outside}/file`), false, approvalPolicy);
}
