// Base URL and key, model, effort, the environment that a program gives.
import http from "node:http";
import { assert, codex, thread, key, steps, shell, say, items, received } from "./lib.mjs";

const got = await received(thread({ model: "some/model", modelReasoningEffort: "high" }));
assert.equal(got.wire, "responses");
assert.equal(got.authorization, `Bearer ${key}`);
assert.equal(got.model, "some/model");
assert.equal(got.effort, "high");

// Commands do not see the key.
for (const [sandboxMode, command] of [["workspace-write", "env; cat /proc/[0-9]*/environ"], ["danger-full-access", "env"]]) {
  const turn = await thread({ sandboxMode }).run(steps(shell(command + "; true"), say("done")));
  const output = items(turn, "command_execution")[0].aggregated_output;
  assert.match(output, /^PATH=/m);
  assert.doesNotMatch(output, new RegExp(key));
}

// A key that is refused, an address where nobody listens, a server that fails.
await assert.rejects(thread().run(steps({ status: 401 })), /401|key/);
await assert.rejects(thread({}, { baseUrl: "http://127.0.0.1:1/v1", config: { retry: { patience_s: 1 } } }).run(steps(say("never"))), /connect/);

// An environment of the program's own: no HOME.
const bare = codex({ env: { PATH: process.env.PATH, CODEAGENT_HOME: process.env.OUT + "/home" } }).startThread({ model: "scripted" });
assert.equal((await bare.run(steps(say("here")))).finalResponse, "here");

// No model is named: the server's first, also where codeagent's own settings name another provider.
assert.equal((await received(codex().startThread())).model, "scripted");
const elsewhere = codex({ env: { ...process.env, OPENAI_BASE_URL: "http://127.0.0.1:1/v1", OPENAI_API_KEY: "other" } });
const there = await received(elsewhere.startThread({ model: "scripted" }));
assert.equal(there.authorization, `Bearer ${key}`);

// A provider of the program's own.
const own = codex({ baseUrl: undefined, apiKey: undefined, env: { ...process.env, OWN_KEY: "own-key" }, config: {
  model_provider: "own", model_providers: { own: { name: "Own", base_url: process.env.BASE_URL, env_key: "OWN_KEY", wire_api: "responses" } } } });
assert.equal((await received(own.startThread({ model: "scripted" }))).authorization, "Bearer own-key");

// A server that has nothing but POST /responses, and no model is named.
const models = [];
const proxy = http.createServer((request, response) => {
  let body = "";
  request.on("data", (data) => (body += data));
  request.on("end", () => {
    if (request.method !== "POST" || request.url !== "/responses") return response.writeHead(404).end();
    models.push(JSON.parse(body).model);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "from a proxy" }] };
    for (const event of [{ type: "response.created", response: { id: "r" } }, { type: "response.output_item.done", item }, { type: "response.completed", response: { id: "r", usage: { input_tokens: 4200, output_tokens: 5, total_tokens: 4205 } } }]) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
});
await new Promise((ready) => proxy.listen(0, "127.0.0.1", ready));
const turn = await codex({ baseUrl: `http://127.0.0.1:${proxy.address().port}` }).startThread().run("go");
assert.equal(turn.finalResponse, "from a proxy");
assert.match(models[0], /^gpt-/);
proxy.close();
