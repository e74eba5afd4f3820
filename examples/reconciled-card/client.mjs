// An A2A client as it is, but for the card that it resolves: node client.mjs NAMESPACE/NAME TEXT
import { readFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { ClientFactory, DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { SendMessageRequest } from '@a2a-js/sdk';

const [peer, ...text] = process.argv.slice(2);
const { CARDS = 'https://agentpeer-cards.agentpeer-system.svc:8084', TOKEN = '/var/run/secrets/agentpeer/token' } = process.env;
const token = (await readFile(TOKEN, 'utf8')).trim();

// The token goes with the card's request and no other.
const resolver = new DefaultAgentCardResolver({
  fetchImpl: (url, init) => fetch(url, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(10_000) }),
});
const card = await resolver.resolve(`${CARDS}/peers/${peer}/`);
const client = await new ClientFactory().createFromAgentCard(card);

const message = SendMessageRequest.fromJSON({ message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: text.join(' ') }] } });
let events = 0;
for await (const { payload } of client.sendMessageStream(message, { signal: AbortSignal.timeout(300_000) })) {
  events++;
  console.log(payload.$case, payload.value.status?.state ?? '');
}
console.log(card.capabilities?.streaming ? 'streamed' : 'single shot', events);
