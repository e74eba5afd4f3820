// Writes the signed cards of this folder, as a server on @a2a-js/sdk 1.3.0 signs and serves them, and the keys to verify them with.
//
//   make sdk && node internal/card/testdata/signatures/sign.mjs bin/sdk/a2a-js
//
// Keys are made anew each time and the private ones thrown away, so every file changes and means the same.
import { createRequire } from 'node:module';
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

globalThis.crypto ??= webcrypto;

const modules = resolve(process.argv[2] ?? 'bin/sdk/a2a-js');
const load = (name) => import(pathToFileURL(join(modules, 'node_modules', 'a2a-js-1.3.0', 'dist', ...name, 'index.js')));
const { AgentCard, generateAgentCardSignature } = await load([]);
const { DefaultRequestHandler, InMemoryTaskStore } = await load(['server']);
const { agentCardHandler } = await load(['server', 'express']);
const express = createRequire(join(modules, 'package.json'))('express');

const here = dirname(fileURLToPath(import.meta.url));
const write = (name, text) => writeFileSync(join(here, name), text.endsWith('\n') ? text : `${text}\n`);

const pair = (kid, alg, type, options) => {
  const { publicKey, privateKey } = generateKeyPairSync(type, options);
  return { kid, alg, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } };
};
const current = pair('card-2026', 'ES256', 'ec', { namedCurve: 'P-256' });
const previous = pair('card-2025', 'RS256', 'rsa', { modulusLength: 2048 });
write('jwks.json', JSON.stringify({ keys: [previous.jwk, current.jwk] }, null, 2));
write('current.json', JSON.stringify({ keys: [current.jwk] }, null, 2));

const by = ({ kid, alg, privateKey }) => generateAgentCardSignature(privateKey, { alg, kid, typ: 'JOSE' });

// A card as the SDK holds it: every member is there, empty or not.
const message = (change = {}) => ({
  name: 'Route planner — Åsgård 路线',
  description: 'Plans routes.',
  supportedInterfaces: [{ url: 'https://planner.example.com/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  provider: undefined,
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{
    id: 'plan', name: 'Plan', description: 'Plans a route.', tags: ['routes'], examples: [], inputModes: [], outputModes: [],
    securityRequirements: [],
  }],
  signatures: [],
  ...change,
});

const schemes = {
  securitySchemes: { bearer: { scheme: { $case: 'httpAuthSecurityScheme', value: { description: '', scheme: 'bearer', bearerFormat: '' } } } },
  securityRequirements: [{ schemes: { bearer: { list: ['plan'] } } }],
};

// The flag required is false, which the SDK serves and does not sign.
const empties = {
  description: '',
  capabilities: {
    streaming: true, pushNotifications: false,
    extensions: [{ uri: 'https://example.com/ext/maps', description: '', required: false, params: undefined }],
  },
  skills: [],
};

// served is what a client gets from the SDK's own handler.
async function served(card, sign) {
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), {}, undefined, undefined, undefined, undefined, sign);
  const server = express().use('/card', agentCardHandler({ agentCardProvider: handler })).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const answer = await fetch(`http://127.0.0.1:${server.address().port}/card`, { headers: { 'A2A-Version': '1.0' } });
  const body = await answer.text();
  server.closeAllConnections?.();
  server.close();
  return body;
}

write('plain.json', await served(message(), by(current)));
write('empties.json', await served(message(empties), by(current)));
write('schemes.json', await served(message(schemes), by(current)));
write('rotated.json', await served(message(), async (card) => by(current)(await by(previous)(card))));
// The same, put into ProtoJSON by hand before it is served.
write('empties-protojson.json', JSON.stringify(AgentCard.toJSON(await by(current)(message(empties)))));
write('schemes-protojson.json', JSON.stringify(AgentCard.toJSON(await by(current)(message(schemes)))));
// The signer is given ProtoJSON in place of a message.
const json = (card) => AgentCard.toJSON(card);
write('schemes-given-json.json', JSON.stringify(await by(current)(json(message(schemes)))));
write('mtls-given-json.json', JSON.stringify(await by(current)(json(message({
  securitySchemes: { mutual: { scheme: { $case: 'mtlsSecurityScheme', value: { description: '' } } } },
  securityRequirements: [{ schemes: { mutual: { list: [] } } }],
})))));
