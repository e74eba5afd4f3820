// An orchestrator on @a2a-js/sdk as it is released. For every line on standard input it makes a client from the base URL, as one does for a
// new piece of work, asks for a stream, and prints how many events came. The token goes to the resolver of cards and to nobody else.
import { createInterface } from 'node:readline';

const [sdk, base, token] = process.argv.slice(1).filter((a) => a !== '--');
const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver } = await import(`${sdk}/client`);

const cardResolver = new DefaultAgentCardResolver({
  fetchImpl: (url, init) => fetch(url, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${token}` } }),
});
const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { cardResolver }));

const part = { kind: 'text', text: 'ping', content: { $case: 'text', value: 'ping' } };
const message = () => ({
  kind: 'message', messageId: crypto.randomUUID(), role: sdk.includes('1.') ? 1 : 'user', parts: [part],
  contextId: '', taskId: '', extensions: [], referenceTaskIds: [],
});

for await (const _ of createInterface({ input: process.stdin })) {
  let events = 0;
  try {
    const client = await factory.createFromUrl(base);
    const one = message();
    if (!sdk.includes('1.')) { delete one.contextId; delete one.taskId; }
    for await (const event of client.sendMessageStream({ message: one, tenant: '' })) events += event ? 1 : 0;
    console.log(JSON.stringify({ events }));
  } catch (err) {
    console.log(JSON.stringify({ error: String(err?.message ?? err) }));
  }
}
