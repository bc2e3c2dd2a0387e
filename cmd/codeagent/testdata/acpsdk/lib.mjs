// What the tests of the ACP SDK share. The model does what the prompt says: steps() writes a prompt,
// and each step is one answer of the model (sdk_test.go plays them). All lines are kept in files that
// begin with RAW, where acpsdk_test.go judges the agent's by the protocol's JSON Schema.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

export { assert, fs, methods };
export const { WORK: work, OUT: out } = process.env;

export const steps = (...list) => JSON.stringify(list);
export const say = (text) => ({ text });
export const shell = (command, more = {}) => ({ tool: "shell", args: { command, ...more } });
export const patch = (text) => ({ tool: "apply_patch", args: { patch: `*** Begin Patch\n${text}\n*** End Patch` } });
export const read = (file) => ({ tool: "read_file", args: { path: file } });
/** A call that needs a permission: it writes into a file outside the workspace. */
export const wish = (file) =>
  shell(`echo granted > ${file}`, { sandbox_permissions: "with_additional_permissions", additional_permissions: { write: [file] }, justification: `bash writes ${path.basename(file)} into the folder that you named` });

let editors = 0;

/** An editor: codeagent as its agent, over the official SDK. */
export class Editor {
  updates = [];
  asked = [];
  /** The answer to questions: the ID of an option, or a function of the request. */
  answer = "no";
  /** Texts of unsaved buffers by path; undefined: the editor offers none. */
  buffers;
  capabilities = {};
  #waiting = [];

  constructor(options = {}) {
    Object.assign(this, options);
  }

  async start(args = []) {
    this.process = spawn(process.env.CODEAGENT, ["acp", "--model", "scripted", ...args], {
      stdio: ["pipe", "pipe", "inherit"], cwd: "/", env: { ...process.env, OPENAI_BASE_URL: process.env.BASE_URL },
    });
    this.exited = new Promise((resolve) => this.process.on("exit", resolve));
    const raw = `${process.env.RAW}${++editors}`;
    this.process.stdout.on("data", (chunk) => fs.appendFileSync(`${raw}.got`, chunk));
    const sent = new WritableStream({
      write: (chunk) => {
        fs.appendFileSync(`${raw}.sent`, chunk);
        return new Promise((resolve) => this.process.stdin.write(chunk, resolve));
      },
    });
    const app = client({ name: "test-editor" })
      .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
        this.asked.push(params);
        const answer = typeof this.answer === "function" ? await this.answer(params, signal) : this.answer;
        return answer === "cancelled" ? { outcome: { outcome: "cancelled" } } : { outcome: { outcome: "selected", optionId: answer } };
      })
      .onNotification(methods.client.session.update, ({ params }) => {
        this.updates.push(params);
        this.#waiting = this.#waiting.filter((look) => !look());
      })
      .onRequest(methods.client.fs.readTextFile, ({ params }) => {
        this.reads = [...(this.reads ?? []), params];
        return { content: this.buffers?.[params.path] ?? fs.readFileSync(params.path, "utf8") };
      });
    if (this.form) app.onRequest(methods.client.elicitation.create, ({ params }) => this.form(params));
    const stream = ndJsonStream(sent, Readable.toWeb(this.process.stdout));
    this.connection = app.connect(stream);
    this.agent = this.connection.agent;
    this.info = await this.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION, clientInfo: { name: "test-editor", version: "1" },
      clientCapabilities: { fs: { readTextFile: this.buffers !== undefined, writeTextFile: true }, terminal: true, ...this.capabilities },
    });
    return this;
  }

  open(cwd = work, mcpServers = []) {
    return this.agent.request(methods.agent.session.new, { cwd, mcpServers });
  }

  prompt(sessionId, text) {
    return this.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  }

  /** The updates of one kind, of one session. */
  of(sessionId, kind) {
    return this.updates.filter((u) => u.sessionId === sessionId && u.update.sessionUpdate === kind).map((u) => u.update);
  }

  /** All that the agent, or with another kind the user, said. */
  text(sessionId, kind = "agent_message_chunk") {
    return this.of(sessionId, kind).map((u) => u.content.text).join("");
  }

  /** Waits until the updates so far satisfy check. */
  until(check) {
    return new Promise((resolve) => {
      const look = () => check() && (resolve(), true);
      if (!look()) this.#waiting.push(look);
    });
  }

  /** Waits for the update that is the answer, and returns a call's last state: updates patch it. */
  call(sessionId, match) {
    const first = this.of(sessionId, "tool_call").find(match);
    assert.ok(first, "no such call");
    return Object.assign({}, first, ...this.of(sessionId, "tool_call_update").filter((u) => u.toolCallId === first.toolCallId));
  }

  async end() {
    this.process.stdin.end();
    assert.equal(await this.exited, 0);
  }
}

export const start = (options, args) => new Editor(options).start(args);

/** The error of a request that must fail. */
export async function failure(request) {
  try {
    await request;
  } catch (error) {
    return error;
  }
  assert.fail("the request did not fail");
}
