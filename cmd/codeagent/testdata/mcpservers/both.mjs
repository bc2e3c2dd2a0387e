// A server of the official TypeScript SDK that speaks both revisions, with the tools that the reference
// servers lack: a list of tools that changes during a session, and a call that notices its cancellation.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { McpServer, acceptedContent, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const say = (text) => ({ content: [{ type: 'text', text }] });
const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
const nothing = fromJsonSchema(object({}));
const note = (name) => writeFileSync(join(process.env.CODEAGENT_SERVER_DIR, name), '');
const readOnly = { readOnlyHint: true };

serveStdio(() => {
  const server = new McpServer({ name: 'both', version: '1' }, { capabilities: { tools: { listChanged: true } } });
  server.registerTool('grow', { description: 'adds a tool', inputSchema: nothing, annotations: readOnly }, async () => {
    server.registerTool('grown', { description: 'was added', inputSchema: nothing, annotations: readOnly }, async () => say('I was added'));
    return say('another tool follows');
  });
  server.registerTool('ask', { description: 'asks', inputSchema: nothing, annotations: readOnly }, async (_, ctx) => {
    const colour = { message: 'Which colour?', requestedSchema: object({ colour: { type: 'string' } }) };
    if (ctx.mcpReq.inputResponses === undefined) {
      return inputRequired({ inputRequests: { colour: inputRequired.elicit(colour) } });
    }
    return say(`answered ${JSON.stringify(acceptedContent(ctx.mcpReq.inputResponses, 'colour') ?? null)}`);
  });
  server.registerTool('wait', { description: 'waits', inputSchema: nothing, annotations: readOnly }, async (_, ctx) => {
    const token = ctx.mcpReq._meta?.progressToken;
    await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress: 1, message: 'waiting' } });
    const cancelled = new Promise((resolve) => ctx.mcpReq.signal.addEventListener('abort', resolve));
    const alive = setInterval(() => {}, 1000); // node ends when nothing is waited for
    await cancelled;
    clearInterval(alive);
    note('cancelled');
    return say('too late');
  });
  return server;
});
