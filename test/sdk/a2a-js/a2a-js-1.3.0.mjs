import { Role, TaskState } from 'a2a-js-1.3.0';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from 'a2a-js-1.3.0/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from 'a2a-js-1.3.0/server/express';
import { A2AService, grpcService } from 'a2a-js-1.3.0/server/grpc';
import { randomUUID, webcrypto } from 'node:crypto';
import { Script, card, skill, text } from './script.mjs';
import { binding, grpcAddress, serve, serveGRPC } from './serve.mjs';

// The SDK asks for node 20; what it misses in node 18, Debian 12's, is this global.
globalThis.crypto ??= webcrypto;

const states = {
  submitted: TaskState.TASK_STATE_SUBMITTED,
  working: TaskState.TASK_STATE_WORKING,
  'input-required': TaskState.TASK_STATE_INPUT_REQUIRED,
  completed: TaskState.TASK_STATE_COMPLETED,
  canceled: TaskState.TASK_STATE_CANCELED,
};

const textPart = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' });

const say = (bus, taskId, contextId, userMessage, task) => {
  const status = (state, words) => ({
    state: states[state],
    timestamp: new Date().toISOString(),
    message: words && {
      messageId: randomUUID(), contextId, taskId, role: Role.ROLE_AGENT, parts: [textPart(words)],
      metadata: undefined, extensions: [], referenceTaskIds: [],
    },
  });
  return {
    task: () => bus.publish(AgentEvent.task({
      id: taskId, contextId, status: status('submitted'), artifacts: [], history: [userMessage], metadata: undefined,
    })),
    // This SDK refuses the stream of a reply with -32004 unless the Task comes first, as 1.0 demands of streams.
    resumed: () => bus.publish(AgentEvent.task({ ...task, status: status('working') })),
    status: (state, words) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state, words), metadata: undefined })),
    artifact: (words, append, lastChunk) => bus.publish(AgentEvent.artifactUpdate({
      taskId, contextId, append, lastChunk, metadata: undefined,
      artifact: { artifactId: 'answer', name: 'answer', description: '', parts: [textPart(words)], metadata: undefined, extensions: [] },
    })),
    finished: () => bus.finished(),
  };
};

class Executor {
  script = new Script();
  contexts = new Map();

  async execute(ctx, bus) {
    const { taskId, contextId, userMessage, task } = ctx;
    this.contexts.set(taskId, contextId);
    const words = text(userMessage.parts, (p) => (p.content?.$case === 'text' ? p.content.value : undefined));
    await this.script.execute(taskId, words, Boolean(task), say(bus, taskId, contextId, userMessage, task));
  }

  cancelTask = async (taskId, bus) => this.script.cancel(taskId, say(bus, taskId, this.contexts.get(taskId) ?? ''));
}

serve(async (app, url) => {
  const interfaces = {
    jsonrpc: { url: `${url}/a2a`, protocolBinding: 'JSONRPC' },
    rest: { url: `${url}/rest`, protocolBinding: 'HTTP+JSON' },
    grpc: binding === 'grpc' && { url: await grpcAddress(), protocolBinding: 'GRPC' },
  };
  const agentCard = {
    ...card('a2a-js 1.3.0'),
    supportedInterfaces: [{ ...interfaces[binding], protocolVersion: '1.0', tenant: '' }],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: true, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    skills: [{ ...skill, examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
    signatures: [],
  };
  const requestHandler = new DefaultRequestHandler(agentCard, new InMemoryTaskStore(), new Executor());
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  if (binding === 'rest') app.use('/rest', restHandler(options));
  else if (binding === 'grpc') serveGRPC(A2AService, grpcService(options));
  else app.use('/a2a', jsonRpcHandler(options));
});
