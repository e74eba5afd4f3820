import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-js-0.3.13/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from 'a2a-js-0.3.13/server/express';
import { card, skill } from './script.mjs';
import { binding, serve } from './serve.mjs';
import { Executor } from './v0.mjs';

serve((app, url) => {
  const agentCard = {
    ...card('a2a-js 0.3.13'),
    protocolVersion: '0.3.0',
    url: binding === 'rest' ? `${url}/rest` : `${url}/a2a`,
    preferredTransport: binding === 'rest' ? 'HTTP+JSON' : 'JSONRPC',
    capabilities: { streaming: true, pushNotifications: true },
    skills: [skill],
  };
  const requestHandler = new DefaultRequestHandler(agentCard, new InMemoryTaskStore(), new Executor());
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  if (binding === 'rest') app.use('/rest', restHandler(options));
  else app.use('/a2a', jsonRpcHandler(options));
});
