import { A2AExpressApp, DefaultRequestHandler, InMemoryTaskStore } from 'a2a-js-0.2.5/server';
import { card, skill } from './script.mjs';
import { serve } from './serve.mjs';
import { Executor } from './v0.mjs';

// This SDK logs to standard output, where only the URL belongs.
const print = console.log;
console.log = console.error;

serve((app, url) => {
  const agentCard = {
    ...card('a2a-js 0.2.5'),
    url: `${url}/`,
    // It accepts webhooks and has nothing that would call them.
    capabilities: { streaming: true, pushNotifications: true },
    skills: [skill],
  };
  new A2AExpressApp(new DefaultRequestHandler(agentCard, new InMemoryTaskStore(), new Executor())).setupRoutes(app, '');
  console.log = (line) => (line === url ? print(line) : console.error(line));
});
