// The official TypeScript SDK of revision 2025-11-25.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { play } from './play.mjs';

const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {} } } });
const asked = [];
let answer;
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return answer;
});
await client.connect(new StdioClientTransport({ command: process.env.CODEAGENT, args: ['mcp'], env: process.env }));
assert.equal(client.getServerVersion().name, 'codeagent');
await client.ping();
await play(client, (tool, args, options) => client.callTool({ name: tool, arguments: args }, undefined, options), asked, (a) => { answer = a; });
