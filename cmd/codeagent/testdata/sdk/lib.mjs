// What the tests of the Codex SDK share. The model does what the prompt says: steps() writes a
// prompt, and each step is one answer of the model (sdk_test.go plays them).
import assert from "node:assert/strict";
import { Codex } from "@openai/codex-sdk";

export { assert };
export const key = "sdk-key-value";

/** The SDK on codeagent, as a program would make it. */
export function codex(options = {}) {
  return new Codex({ codexPathOverride: process.env.CODEAGENT, baseUrl: process.env.BASE_URL, apiKey: key, ...options });
}

export const thread = (options = {}, client = {}) => codex(client).startThread({ model: "scripted", ...options });

export const steps = (...list) => JSON.stringify(list);
export const say = (text) => ({ text });
export const shell = (command, more = {}) => ({ tool: "shell", args: { command, ...more } });
/** An answer that says, as JSON, what the model server received. */
export const report = { report: true };

/** Runs a prompt that ends in a report and returns what the server received. */
export async function received(on, ...list) {
  const turn = await on.run(steps(...list, report));
  return JSON.parse(turn.finalResponse);
}

/** All events of a prompt, each of the shape that the SDK's types promise. */
export async function events(on, input, options) {
  const all = [];
  for await (const event of (await on.runStreamed(input, options)).events) {
    checkEvent(event);
    all.push(event);
  }
  return all;
}

export const items = (turn, type) => turn.items.filter((item) => item.type === type);

// The types of dist/index.d.ts. An optional field ends in "?".
const text = (v) => typeof v === "string";
const number = (v) => typeof v === "number";
const oneOf = (...list) => (v) => list.includes(v);
const listOf = (fields) => (v) => Array.isArray(v) && v.every((e) => check(e, fields));

const itemTypes = {
  agent_message: { text },
  reasoning: { text },
  command_execution: { command: text, aggregated_output: text, "exit_code?": number, status: oneOf("in_progress", "completed", "failed") },
  file_change: { changes: listOf({ path: text, kind: oneOf("add", "delete", "update") }), status: oneOf("completed", "failed") },
  todo_list: { items: listOf({ text, completed: (v) => typeof v === "boolean" }) },
  error: { message: text },
};

const item = (v) => {
  assert.ok(itemTypes[v.type], `a ThreadItem cannot be a ${v.type}`);
  return check(v, { id: text, type: text, ...itemTypes[v.type] });
};

const usage = (v) =>
  check(v, { input_tokens: number, cached_input_tokens: number, cache_write_input_tokens: number, output_tokens: number, reasoning_output_tokens: number });

const eventTypes = {
  "thread.started": { thread_id: text },
  "turn.started": {},
  "turn.completed": { usage },
  "turn.failed": { error: (v) => check(v, { message: text }) },
  "item.started": { item },
  "item.updated": { item },
  "item.completed": { item },
  error: { message: text },
};

function check(value, fields) {
  const known = new Set();
  for (const [name, fits] of Object.entries(fields)) {
    const field = name.replace("?", "");
    known.add(field);
    if (name.endsWith("?") && value[field] === undefined) continue;
    assert.ok(fits(value[field]), `${field} of ${JSON.stringify(value)}`);
  }
  for (const name of Object.keys(value)) assert.ok(known.has(name), `the SDK's types have no ${name}: ${JSON.stringify(value)}`);
  return true;
}

function checkEvent(event) {
  assert.ok(eventTypes[event.type], `a ThreadEvent cannot be a ${event.type}`);
  check(event, { type: text, ...eventTypes[event.type] });
}
