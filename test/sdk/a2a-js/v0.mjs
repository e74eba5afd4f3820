// What the 0.2 and 0.3 servers share: events of the old shape and the executor.
import { randomUUID } from 'node:crypto';
import { Script, text } from './script.mjs';

const textPart = (words) => ({ kind: 'text', text: words });

const say = (bus, taskId, contextId, userMessage) => {
  const status = (state, words) => ({
    state,
    timestamp: new Date().toISOString(),
    ...(words && { message: { kind: 'message', role: 'agent', messageId: randomUUID(), taskId, contextId, parts: [textPart(words)] } }),
  });
  return {
    task: () => bus.publish({ kind: 'task', id: taskId, contextId, status: status('submitted'), history: [userMessage], artifacts: [] }),
    resumed: () => {},
    status: (state, words) => bus.publish({
      kind: 'status-update', taskId, contextId, status: status(state, words), final: state !== 'working',
    }),
    artifact: (words, append, lastChunk) => bus.publish({
      kind: 'artifact-update', taskId, contextId, append, lastChunk,
      artifact: { artifactId: 'answer', name: 'answer', parts: [textPart(words)] },
    }),
    finished: () => bus.finished(),
  };
};

export class Executor {
  script = new Script();
  contexts = new Map();

  async execute({ taskId, contextId, userMessage, task }, bus) {
    this.contexts.set(taskId, contextId);
    await this.script.execute(taskId, text(userMessage.parts, (p) => p.text), Boolean(task), say(bus, taskId, contextId, userMessage));
  }

  cancelTask = async (taskId, bus) => this.script.cancel(taskId, say(bus, taskId, this.contexts.get(taskId) ?? ''));
}
