import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-js-0.3.13/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from 'a2a-js-0.3.13/server/express';
import { A2AService, grpcService } from 'a2a-js-0.3.13/server/grpc';
import { card, skill } from './script.mjs';
import { binding, grpcAddress, serve, serveGRPC } from './serve.mjs';
import { Executor } from './v0.mjs';

serve(async (app, url) => {
  const [endpoint, transport] = {
    jsonrpc: [`${url}/a2a`, 'JSONRPC'],
    rest: [`${url}/rest`, 'HTTP+JSON'],
    grpc: [binding === 'grpc' && await grpcAddress(), 'GRPC'],
  }[binding];
  const agentCard = {
    ...card('a2a-js 0.3.13'),
    protocolVersion: '0.3.0',
    url: endpoint,
    preferredTransport: transport,
    capabilities: { streaming: true, pushNotifications: true },
    skills: [skill],
  };
  const requestHandler = new DefaultRequestHandler(agentCard, new InMemoryTaskStore(), new Executor());
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  if (binding === 'rest') app.use('/rest', restHandler(options));
  else if (binding === 'grpc') serveGRPC(A2AService, grpcService(options));
  else app.use('/a2a', jsonRpcHandler(options));
});
