// What every peer here does with a message, whatever its SDK: the script of test/agent.
// "count ..." works long and can be canceled, "book ..." asks back unless it says where to, anything else is answered with "pong".

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Script keeps what an executor must remember between its calls.
 * say is the SDK's way to publish: {task(), resumed(), status(state, text), artifact(text, append, last), finished()}.
 */
export class Script {
  running = new Set();
  canceled = new Set();

  async execute(taskId, text, known, say) {
    this.running.add(taskId);
    try {
      if (known) say.resumed();
      else say.task();
      say.status('working');
      const verb = known ? 'answer' : text.trim().toLowerCase();
      if (verb.startsWith('count')) await this.count(taskId, say);
      else if (verb.startsWith('book') && !verb.includes(' to ')) say.status('input-required', 'Where to?');
      else {
        await sleep(5);
        say.artifact(known || verb.startsWith('book') ? 'booked' : 'pong', false, true);
        say.status('completed');
      }
    } finally {
      this.running.delete(taskId);
      this.canceled.delete(taskId);
      say.finished();
    }
  }

  async count(taskId, say) {
    for (let i = 1; i <= 1000; i++) {
      await sleep(50);
      if (this.canceled.has(taskId)) {
        say.status('canceled');
        return;
      }
      say.artifact(`${i}\n`, i > 1, i === 1000);
    }
    say.status('completed');
  }

  // cancel tells a running executor, which says canceled itself; a task that waits is canceled here.
  cancel(taskId, say) {
    if (this.running.has(taskId)) {
      this.canceled.add(taskId);
      return;
    }
    say.status('canceled');
    say.finished();
  }
}

export const text = (parts, of) => parts.map(of).filter((s) => typeof s === 'string').join('');

/** card holds what cards of all generations share. */
export const card = (name) => ({
  name,
  description: 'An honest peer on a released SDK.',
  version: '1.0.0',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
});

export const skill = { id: 'ping', name: 'Ping', description: 'Answers pong.', tags: ['test'] };
