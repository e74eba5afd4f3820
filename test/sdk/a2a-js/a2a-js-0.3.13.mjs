import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-js-0.3.13/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from 'a2a-js-0.3.13/server/express';
import { card, skill } from './script.mjs';
import { serve } from './serve.mjs';
import { Executor } from './v0.mjs';

serve((app, url) => {
  const agentCard = {
    ...card('a2a-js 0.3.13'),
    protocolVersion: '0.3.0',
    url: `${url}/a2a`,
    preferredTransport: 'JSONRPC',
    capabilities: { streaming: true },
    skills: [skill],
  };
  const requestHandler = new DefaultRequestHandler(agentCard, new InMemoryTaskStore(), new Executor());
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
});
