// Structured output: the answer fits the schema, after one repair if it must.
import { assert, thread, steps, say, shell, report } from "./lib.mjs";

const outputSchema = {
  type: "object",
  properties: { summary: { type: "string" }, status: { type: "string", enum: ["ok", "action_required"] } },
  required: ["summary", "status"],
  additionalProperties: false,
};
const good = say('{"summary":"all is well","status":"ok"}');
const t = thread();
const turn = await t.run(steps(shell("echo looked"), good), { outputSchema });
assert.deepEqual(JSON.parse(turn.finalResponse), { summary: "all is well", status: "ok" });

const repaired = await thread().run(steps(say("all is well"), good), { outputSchema });
assert.deepEqual(JSON.parse(repaired.finalResponse), { summary: "all is well", status: "ok" });

await assert.rejects(thread().run(steps(say("no"), say('{"summary":1}'), say("no")), { outputSchema }));

// The provider gets the schema as Codex sends it.
const anything = { type: "object", properties: {}, required: [], additionalProperties: true };
const format = JSON.parse((await thread().run(steps(report), { outputSchema: anything })).finalResponse).format;
assert.equal(format.type, "json_schema");
assert.deepEqual(format.schema, anything);

// As zod-to-json-schema writes it, with references.
const zod = {
  $schema: "http://json-schema.org/draft-07/schema#",
  $ref: "#/definitions/answer",
  definitions: { answer: { type: "object", properties: { n: { type: ["integer", "null"] } }, required: ["n"], additionalProperties: false } },
};
assert.deepEqual(JSON.parse((await thread().run(steps(say('{"n":"x"}'), say('{"n":null}')), { outputSchema: zod })).finalResponse), { n: null });

// As zod writes an e-mail address: the lookahead is for the provider, codeagent checks the rest.
const email = { type: "object", properties: { to: { type: "string", format: "email", pattern: "^(?!\\.)(?!.*\\.\\.)[A-Za-z.]*[A-Za-z]@([a-z]+\\.)+[a-z]{2,}$" } }, required: ["to"] };
assert.deepEqual(JSON.parse((await thread().run(steps(say('{"to":3}'), say('{"to":"a@b.example"}')), { outputSchema: email })).finalResponse), { to: "a@b.example" });

// A schema that cannot be used, with a prompt that is larger than a pipe.
await assert.rejects(thread().run(steps(say("never")) + " ".repeat(1 << 20), { outputSchema: { type: 5 } }), /schema/i);

// The schema holds for its turn alone.
assert.equal((await t.run(steps(say("plain words")))).finalResponse, "plain words");
