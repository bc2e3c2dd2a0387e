// What both clients do. They check each structured result against its schema by themselves.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';

export async function play(client, call, asked, answer) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name).sort(), ['agent', 'apply_patch', 'shell', 'undo']);

  let r = await call('shell', { command: 'echo one > a; cat a' });
  assert.ok(!r.isError && r.content[0].text.includes('one') && r.structuredContent.exit === 0);

  const target = process.env.HOME + '/wanted';
  answer({ action: 'accept', content: { answer: 'no' } });
  r = await call('shell', { command: 'echo x > ~/wanted' });
  assert.ok(r.isError && !existsSync(target) && r.structuredContent.denials[0].target === target);
  answer({ action: 'accept', content: { answer: 'once' } });
  r = await call('shell', { command: 'echo yes >> ~/wanted' });
  assert.ok(!r.isError && readFileSync(target, 'utf8') === 'yes\n', JSON.stringify(r));
  assert.equal(asked.length, 2);
  assert.ok(asked[0].includes('write ' + target));

  const lines = [];
  await call('shell', { command: 'echo working; sleep 0.3' }, { onprogress: (p) => lines.push(p.message) });
  assert.ok(lines.includes('working'), lines.join());

  const abort = new AbortController();
  const both = [call('shell', { command: 'echo up > up; sleep 1000' }, { signal: abort.signal }), call('shell', { command: 'until [ -e up ]; do sleep 0.05; done' })];
  await both[1];
  abort.abort();
  await assert.rejects(both[0]);

  r = await call('apply_patch', { patch: '*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** End Patch' });
  assert.equal(readFileSync('a', 'utf8'), 'two\n');
  r = await call('undo', { undo_id: r.structuredContent.undo_id });
  assert.equal(readFileSync('a', 'utf8'), 'one\n');

  await assert.rejects(call('nothing', {}), (e) => e.code === -32602);
  r = await call('agent', { prompt: 'x' });
  assert.ok(r.isError && r.content[0].text.includes('no model is configured'));
  await client.close();
}
