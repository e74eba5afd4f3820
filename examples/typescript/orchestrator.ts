// A small orchestrator. Each line of standard input is an errand: an agent's URL, a space, and all that the agent need be told.
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { SendMessageRequest, taskStateToJSON } from '@a2a-js/sdk';
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import * as k8s from '@kubernetes/client-node';

const SKEW = 5_000; // milliseconds that our clock may be from the operator's: trust ends so much sooner
const CALL = 10_000, QUIET = 30_000, HARD = 300_000; // for a call, a quiet stream, an errand; status.decision.deadlines has an agent's own
const over = /_(COMPLETED|FAILED|CANCELED|REJECTED)$/, waits = /_REQUIRED$/; // states in which a task ends, or waits for us

type AgentPeer = k8s.KubernetesObject & { spec: { url?: string; card?: { verification?: { policy?: string } } };
  status?: { observedGeneration?: number; target?: string; decision?: { path: string; expirationTime?: string } } };

// Keeps AgentPeers as the API server has them. The informer reconnects and lists anew at 410; after an error we start it again.
const config = new k8s.KubeConfig();
config.loadFromDefault(); // your kubeconfig, or the pod's ServiceAccount
const api = config.makeApiClient(k8s.CustomObjectsApi), kind = { group: 'trust.agentpeer.dev', version: 'v1alpha1', plural: 'agentpeers' };
const peers = k8s.makeInformer<AgentPeer>(config, '/apis/trust.agentpeer.dev/v1alpha1/agentpeers', () => api.listClusterCustomObject(kind));
peers.on('error', (e) => {
  console.error('watching AgentPeers:', e?.code ?? e?.statusCode ?? e?.name); // what we know stays, and lapses by itself
  setTimeout(() => peers.start(), 1_000);
});

const plain = (url = '') => URL.canParse(url) ? new URL(url).href.replace(/\/$/, '') : ''; // one form for one URL

// Of all AgentPeers for a URL the worst counts. A status that is absent, about another target or past its time proves nothing.
function pathTo(url: string): string {
  const paths = peers.list().flatMap(({ metadata, spec, status }) => {
    const decision = status?.decision, target = plain(status?.target);
    if (plain(url) !== plain(spec.url) && plain(url) !== target) return [];
    const lapsed = decision?.expirationTime && Date.parse(decision.expirationTime) <= Date.now() + SKEW;
    const same = decision?.path === 'Unavailable' || !spec.url || plain(spec.url) === target;
    const signed = spec.card?.verification?.policy === 'Require', seen = !signed || status?.observedGeneration === metadata?.generation;
    return [decision && !lapsed && same && seen ? decision.path : signed ? 'Unavailable' : 'SingleShot'];
  });
  return paths.includes('Unavailable') ? 'Unavailable' : paths.length && paths.every((p) => p === 'Streaming') ? 'Streaming' : 'SingleShot';
}

const cardResolver = new DefaultAgentCardResolver({ fetchImpl: (url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(CALL) }) });
const agents = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  cardResolver, clientConfig: { polling: true } })); // polling: a single shot is answered at once, with the task's id

async function run(url: string, text: string): Promise<string> {
  const path = pathTo(url), errand = AbortSignal.timeout(HARD), quiet = new AbortController();
  if (path === 'Unavailable') return path;
  const agent = await agents.createFromUrl(url), within = (signal: AbortSignal) => ({ signal: AbortSignal.any([errand, signal]) });
  const message = SendMessageRequest.fromJSON({ message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] } });
  let id = '', state = '', timer = setTimeout(() => quiet.abort(), QUIET);
  try {
    if (path === 'SingleShot') {
      const answer = await agent.sendMessage(message, within(AbortSignal.timeout(CALL)));
      if (!('status' in answer)) return `${path} message`;
      [id, state] = [answer.id, taskStateToJSON(answer.status!.state)]; // what was made is in artifacts
    } else for await (const { payload: event } of agent.sendMessageStream(message, within(quiet.signal))) {
      timer.refresh();
      if (event?.$case === 'message') return `${path} message`;
      id = event?.$case === 'task' ? event.value.id : event?.value.taskId ?? id;
      if (event && 'status' in event.value) state = taskStateToJSON(event.value.status!.state);
    }
  } catch (e) { if (!id) throw e; } // else: a stream that breaks or goes quiet is not the end of its task
  try {
    while (!over.test(state) && !waits.test(state)) {
      state = taskStateToJSON((await agent.getTask({ tenant: '', id }, within(AbortSignal.timeout(CALL)))).status!.state);
      if (!over.test(state)) await sleep(1_000);
    }
    return `${path} ${state}`;
  } finally { // nobody waits any more, so nobody should work
    if (id && !over.test(state)) await agent.cancelTask({ tenant: '', id, metadata: undefined }, { signal: AbortSignal.timeout(CALL) });
  }
}

await Promise.race([peers.start().catch(() => undefined), sleep(CALL)]);
for await (const line of createInterface(process.stdin)) {
  const [url, ...text] = line.trim().split(' ');
  console.log(await run(url, text.join(' ')).catch((e) => `failed: ${e.name}`));
}
process.exit(); // the watch would go on
