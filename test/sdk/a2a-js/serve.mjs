// Starts an express app on loopback, prints its URL as one line, and ends on SIGTERM, SIGINT or when standard input closes.
import * as grpc from '@grpc/grpc-js';
import express from 'express';

function port(argv) {
  const i = argv.findIndex((a) => a === '-port' || a === '--port');
  const n = i < 0 ? 0 : Number(argv[i + 1]);
  if (!Number.isInteger(n) || n < 0 || n > 65535) {
    console.error(`usage: node ${argv[1]} [-port N]`);
    process.exit(3);
  }
  return n;
}

/** binding is the one that the card lists: "jsonrpc" unless -binding says "rest" or "grpc". */
export const binding = (() => {
  const i = process.argv.findIndex((a) => a === '-binding' || a === '--binding');
  const name = i < 0 ? 'jsonrpc' : process.argv[i + 1];
  if (!['jsonrpc', 'rest', 'grpc'].includes(name)) {
    console.error(`choosing a binding: "${name}" is none`);
    process.exit(3);
  }
  return name;
})();

const grpcServer = new grpc.Server();

/** grpcAddress is where serveGRPC will answer; a card needs it before there is a service. */
export const grpcAddress = () => new Promise((resolve, reject) => {
  grpcServer.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (err, n) => (err ? reject(err) : resolve(`127.0.0.1:${n}`)));
});

/** serveGRPC adds the service; the server answers once its address is bound. */
export const serveGRPC = (definition, service) => grpcServer.addService(definition, service);

/** serve listens first, since a card needs the port, and then lets build(app, url) add the routes. */
export function serve(build) {
  const app = express();
  const server = app.listen(port(process.argv), '127.0.0.1', async () => {
    const url = `http://127.0.0.1:${server.address().port}`;
    await build(app, url);
    console.log(url);
  });
  server.on('error', (err) => {
    console.error(`listening: ${err.message}`);
    process.exit(1);
  });
  const end = () => process.exit(0);
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  process.stdin.on('end', end);
  process.stdin.on('close', end);
  process.stdin.resume();
}
