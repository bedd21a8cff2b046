// Signed notes, checkpoints and the state snapshots that belong to them.
import {
  b3text, blake3, bytesOf, checkKey, decodeCbor, ed25519Verifies, encodeCbor, exactBase64, fields,
  need, same, sha256, uint,
} from './values.mjs';
import { State, descriptorKey } from './rules.mjs';

export const originOf = (log) => 'ron-registry/' + log.toString('hex').slice(0, 16);

export function keyIdOf(name, key) {
  return sha256(Buffer.from(name + '\n'), Buffer.from([1]), key).subarray(0, 4);
}

export const printVkey = (name, key) =>
  `${name}+${keyIdOf(name, key).toString('hex')}+` +
  Buffer.concat([Buffer.from([1]), key]).toString('base64');

export function parseVkey(text) {
  const match = /^([^+\s]+)\+([0-9a-f]{8})\+(.+)$/.exec(text.trim());
  need(match, 'the vkey is not name+id+key');
  const bytes = exactBase64(match[3], 'the vkey');
  need(bytes.length === 33 && bytes[0] === 1, 'the vkey is not one of Ed25519');
  const key = bytes.subarray(1);
  checkKey(key, 'the vkey');
  need(keyIdOf(match[1], key).toString('hex') === match[2], 'the vkey has another id');
  return { name: match[1], key };
}

// The text of a note that the key has signed. Bytes in, so that nothing is repaired on the way.
export function openNote(bytes, vkey) {
  const note = bytes.toString('utf8');
  need(same(Buffer.from(note), bytes), 'the note is not UTF-8');
  const split = note.lastIndexOf('\n\n');
  need(split > 0 && note.endsWith('\n'), 'the note has no signatures');
  const text = note.slice(0, split + 1);
  // eslint-disable-next-line no-control-regex
  need(!/[\x00-\x09\x0b-\x1f]/.test(text), 'the note has control characters');
  const lines = note.slice(split + 2, -1).split('\n');
  need(lines.length <= 16, 'the note has too many signatures');
  const keyId = keyIdOf(vkey.name, vkey.key);
  let isSigned = false;
  for (const line of lines) {
    const match = /^\u2014 ([^\s+]+) (\S+)$/.exec(line);
    need(match, 'a line behind the text is no signature');
    const signature = exactBase64(match[2], 'a signature');
    need(signature.length > 4, 'a signature is too short');
    if (match[1] !== vkey.name || !same(signature.subarray(0, 4), keyId)) continue;
    need(ed25519Verifies(vkey.key, Buffer.from(text), signature.subarray(4)),
         'the signature of the note does not verify');
    isSigned = true;
  }
  need(isSigned, 'the key has not signed the note');
  return text;
}

const NUMBER = '(0|[1-9][0-9]{0,19})';
const HASH = '(b3:[0-9a-f]{64})';
const CHAIN = new RegExp(`^chain ${NUMBER} ${HASH}$`);
const PRUNED = new RegExp(`^pruned-below ${NUMBER}$`);
const STATE = new RegExp(`^state ${HASH}$`);
const hashOf = (text) => Buffer.from(text.slice(3), 'hex');

export function parseCheckpoint(text) {
  const [origin, size, root, chain, pruned, state, ...more] = text.slice(0, -1).split('\n');
  need(state !== undefined, 'the checkpoint has too few lines');
  need(new RegExp(`^${NUMBER}$`).test(size), 'the checkpoint has no size');
  const chainMatch = CHAIN.exec(chain);
  const prunedMatch = PRUNED.exec(pruned);
  const stateMatch = STATE.exec(state);
  need(chainMatch && prunedMatch && stateMatch, 'an extension line of the checkpoint is wrong');
  const rootBytes = exactBase64(root, 'the root');
  need(rootBytes.length === 32, 'the root does not have 32 bytes');
  const version = BigInt(chainMatch[1]);
  need(BigInt(size) === version + 1n, 'size and version of the checkpoint disagree');
  need(BigInt(prunedMatch[1]) <= version, 'pruned-below is above the version');
  need(more.length <= 16, 'the checkpoint has too many lines');
  for (const line of more) {
    need(line !== '' && Buffer.byteLength(line) <= 1024 &&
         !/^(chain|pruned-below|state) /.test(line),
         'a further line of the checkpoint is wrong');
  }
  return {
    origin, size: BigInt(size), root: rootBytes, version, hash: hashOf(chainMatch[2]),
    prunedBelow: BigInt(prunedMatch[1]), state: hashOf(stateMatch[1]),
  };
}

export function openCheckpoint(bytes, vkey) {
  const checkpoint = parseCheckpoint(openNote(bytes, vkey));
  need(checkpoint.origin === vkey.name, 'the checkpoint is of another log');
  return checkpoint;
}

// Summaries and snapshots.

export function decodeSummary(bytes) {
  const map = fields(decodeCbor(bytes, 'the summary'), 'the summary',
                     ['at', 'log', 'hash', 'version', 'governance', 'descriptors']);
  need(Array.isArray(map.governance) && map.governance.length > 0, 'there is no genesis');
  return {
    at: uint(map.at, 'at'),
    log: bytesOf(map.log, 'log', 32),
    hash: bytesOf(map.hash, 'hash', 32),
    version: uint(map.version, 'version'),
    governance: map.governance.map((item) => bytesOf(item, 'governance')),
    descriptors: bytesOf(map.descriptors, 'descriptors', 32),
  };
}

// The summary belongs to the checkpoint.
export function checkSummary(bytes, checkpoint) {
  need(same(blake3(bytes), checkpoint.state), 'the state is not what the checkpoint says');
  const summary = decodeSummary(bytes);
  need(summary.version === checkpoint.version && same(summary.hash, checkpoint.hash) &&
       originOf(summary.log) === checkpoint.origin, 'the summary is not of the checkpoint');
  return summary;
}

// Who decides behind the version `last`, by the entries about signers alone.
export function governedState(summary, last) {
  const state = new State();
  for (const bytes of summary.governance) {
    if (state.version !== -1n && peekVersion(bytes) > last) break;
    state.takeGovernance(bytes);
  }
  need(same(state.log, summary.log), 'the genesis is of another log');
  return state;
}

const peekVersion = (bytes) => uint(decodeCbor(bytes, 'an entry').get('version'), 'version');

const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

// Both parts as the state makes them.
export function snapshotOf(state) {
  const keys = [...state.descriptors.keys()].sort(byBytes);
  const descriptors = encodeCbor(new Map([
    ['replaced', state.replaced],
    ['descriptors', keys.map((key) => state.descriptors.get(key))],
  ]));
  const summary = encodeCbor(new Map([
    ['at', state.at],
    ['log', state.log],
    ['hash', state.hash],
    ['version', state.version],
    ['governance', state.governance],
    ['descriptors', blake3(descriptors)],
  ]));
  return encodeCbor([summary, descriptors]);
}

export function restore(bytes, checkpoint) {
  const parts = decodeCbor(bytes, 'the snapshot');
  need(Array.isArray(parts) && parts.length === 2, 'the snapshot has not two parts');
  const [summaryBytes, second] = parts.map((part) => bytesOf(part, 'a part of the snapshot'));
  const summary = checkSummary(summaryBytes, checkpoint);
  need(same(blake3(second), summary.descriptors), 'the descriptors are not what the summary says');
  const map = fields(decodeCbor(second, 'the descriptors'), 'the descriptors',
                     ['replaced', 'descriptors']);
  const state = governedState(summary, summary.version);
  need(state.version < summary.version ||
       (state.version === summary.version && same(state.hash, summary.hash)),
       `the entries about signers do not lead to ${b3text(summary.hash)}`);
  need(state.at <= summary.at, 'the snapshot is older than an entry about signers');
  state.skipTo(summary.version, summary.hash, summary.at);
  for (const value of map.descriptors) state.descriptors.set(descriptorKey(value), value);
  state.replaced = map.replaced.map((pair) => {
    need(Array.isArray(pair) && pair.length === 2 && typeof pair[0] === 'string',
         'replaced is not a list of pairs');
    if (pair[1] !== null) descriptorKey(pair[1]);
    return pair;
  });
  need(same(snapshotOf(state), bytes), 'the snapshot is not in its one form');
  return state;
}
