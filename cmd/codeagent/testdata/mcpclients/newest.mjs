// The official TypeScript client of revision 2026-07-28.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { play } from './play.mjs';

const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } });
const asked = [];
let answer;
client.setRequestHandler('elicitation/create', async (request) => {
  asked.push(request.params.message);
  return answer;
});
await client.connect(new StdioClientTransport({ command: process.env.CODEAGENT, args: ['mcp'], env: process.env }));
assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
await play(client, (tool, args, options) => client.callTool({ name: tool, arguments: args }, options), asked, (a) => { answer = a; });
