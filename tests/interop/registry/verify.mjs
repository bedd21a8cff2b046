// An independent verifier of a registry's directory and of proof files, from
// docs/registry-format.md alone.
//
//   node verify.mjs data DIRECTORY VKEY [KEPT-NOTE]      DIRECTORY holds log/, tree/, checkpoints/
//   node verify.mjs proof FILE [VKEY]
//   node verify.mjs batch FILE                           a line for each line of FILE: a JSON array
//                                                        of the words above
//
// Exit 0 and `ok …` if everything holds; else exit 1 and `refused: why`.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Refused, b3text, exactBase64, need, same } from './values.mjs';
import { State, decodeEntry, decodePayload } from './rules.mjs';
import { Frontier, checkInclusion, leafHash, rootOf } from './tree.mjs';
import {
  checkSummary, governedState, openCheckpoint, originOf, parseVkey, restore, snapshotOf,
} from './checkpoint.mjs';
import { readFrameLog } from './frames.mjs';

const said = (where, check) => {
  try {
    return check();
  } catch (error) {
    if (error instanceof Refused) error.message = `${where}: ${error.message}`;
    throw error;
  }
};

function readCheckpoints(folder, vkey) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder);
  return names.filter((name) => /^\d{20}\.note$/.test(name)).sort().map((name) => said(name, () => {
    const checkpoint = openCheckpoint(readFileSync(join(folder, name)), vkey);
    need(checkpoint.version === BigInt(name.slice(0, 20)), 'it is of another version');
    const path = join(folder, name.replace('.note', '.state'));
    return { ...checkpoint, name, snapshot: existsSync(path) ? readFileSync(path) : null };
  }));
}

// The state before the first version that is verified by the rules, and where that is.
function startOf(log, checkpoints) {
  if (log.first === 0n) return { state: new State(), index: 0 };
  const base = checkpoints.find((one) => one.snapshot && one.version >= log.first);
  need(base, 'the log is pruned, and there is no snapshot to start from');
  const state = said(base.name, () => restore(base.snapshot, base));
  const count = Number(base.version - log.first) + 1;
  need(count <= log.frames.length, 'the log ends before a checkpoint');
  let before = null;
  log.frames.slice(0, count).forEach(({ number, content }) => said(`version ${number}`, () => {
    const entry = decodeEntry(content);
    decodePayload(entry.payload);
    need(entry.version === number, `it says that it is version ${entry.version}`);
    need(!before || same(entry.prev, before.hash), 'prev is not the hash of the version before');
    before = entry;
  }));
  need(same(before.hash, base.hash), `version ${base.version} is not what the checkpoint says`);
  return { state, index: count };
}

// A proposal is committed once.
function checkProposals(log) {
  const seen = new Map();
  for (const { number, content } of log.frames) {
    const { proposal } = said(`version ${number}`, () => decodeEntry(content));
    need(!seen.has(proposal), `version ${number}: version ${seen.get(proposal)} has its proposal`);
    seen.set(proposal, number);
  }
}

// Level 0 up to the newest checkpoint; behind it from the log.
function readTree(folder, size, log) {
  const read = (level) => {
    const path = join(folder, String(level));
    const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
    const count = Number(BigInt(size) >> BigInt(8 * level));
    need(bytes.length >= 32 * count, `level ${level} of the tree is too short`);
    return Array.from({ length: count }, (_, i) => bytes.subarray(32 * i, 32 * i + 32));
  };
  const leaves = read(0);
  for (let level = 1, below = leaves; below.length >= 256; level += 1) {
    const hashes = read(level);
    hashes.forEach((hash, i) => need(
      same(hash, rootOf(below.slice(256 * i, 256 * i + 256))),
      `hash ${i} of level ${level} of the tree is wrong`));
    below = hashes;
  }
  for (const { number, content } of log.frames) {
    const leaf = leafHash(content);
    if (number >= size) leaves.push(leaf);
    need(same(leaves[Number(number)], leaf), `leaf ${number} of the tree is wrong`);
  }
  return leaves;
}

function verifyData(directory, vkeyText, keptPath) {
  const vkey = parseVkey(vkeyText);
  const log = said('log', () => readFrameLog(join(directory, 'log')));
  const checkpoints = readCheckpoints(join(directory, 'checkpoints'), vkey);
  const newest = checkpoints.at(-1);
  const { state, index } = startOf(log, checkpoints);
  const hashes = new Map(log.frames.map(({ number, content }) => [number, content]));
  checkProposals(log);
  const byVersion = new Map(checkpoints.map((one) => [one.version, one]));
  const agree = (one) => said(one.name, () => {
    if (one.version === state.version) {
      need(same(one.hash, state.hash), 'the version has another hash');
      if (one.snapshot) {
        restore(one.snapshot, one);
        need(same(one.snapshot, snapshotOf(state)), 'the state is not what the versions give');
      }
    }
  });
  for (const { number, content } of log.frames.slice(index)) {
    said(`version ${number}`, () => state.take(content));
    if (byVersion.has(number)) agree(byVersion.get(number));
  }
  need(state.log, 'the log is empty');
  need(originOf(state.log) === vkey.name, 'the log is another one than the key is of');
  need(!newest || newest.version <= state.version, 'the log ends before its newest checkpoint');
  need(log.first === 0n || checkpoints.some((one) => log.first <= one.prunedBelow),
       'versions are gone that no checkpoint allows to prune');
  const leaves = said(
    'tree', () => readTree(join(directory, 'tree'), newest ? newest.size : 0n, log));
  const tree = new Frontier();
  for (const leaf of leaves) {
    tree.append(leaf);
    if (byVersion.has(BigInt(tree.size - 1))) {
      const one = byVersion.get(BigInt(tree.size - 1));
      need(same(tree.root(), one.root), `${one.name}: the tree has another root`);
      const content = hashes.get(one.version);
      if (content) need(same(decodeEntry(content).hash, one.hash), `${one.name}: another hash`);
    }
  }
  if (keptPath) {
    said('the kept checkpoint', () => {
      const kept = openCheckpoint(readFileSync(keptPath), vkey);
      need(kept.size <= BigInt(leaves.length), 'the log was rolled back behind it');
      need(same(rootOf(leaves.slice(0, Number(kept.size))), kept.root), 'the log is another one');
    });
  }
  return `version ${state.version} ${b3text(state.hash)} log ${b3text(state.log)}`;
}

function verifyProof(path, vkeyText) {
  const text = readFileSync(path);
  need(text.length <= 8 * 1024 * 1024, 'the proof is too large');
  let proof;
  try {
    proof = JSON.parse(text.toString('utf8'));
  } catch {
    throw new Refused('the proof is not JSON');
  }
  const keys = ['checkpoint', 'entry', 'format', 'inclusion', 'summary', 'version', 'vkey'];
  need(proof && typeof proof === 'object' && Object.keys(proof).sort().join() === keys.join(),
       'the proof does not have its keys');
  need(proof.format === 'ron-registry-proof/v1', 'the proof is of another format');
  for (const key of ['checkpoint', 'entry', 'summary', 'vkey']) {
    need(typeof proof[key] === 'string', `${key} is not text`);
  }
  need(Array.isArray(proof.inclusion) && proof.inclusion.length <= 64, 'inclusion is no list');
  const checkpoint = openCheckpoint(
    Buffer.from(proof.checkpoint), parseVkey(vkeyText ?? proof.vkey));
  const summary = checkSummary(exactBase64(proof.summary, 'summary'), checkpoint);
  const bytes = exactBase64(proof.entry, 'entry');
  const entry = decodeEntry(bytes);
  need(typeof proof.version === 'number' && BigInt(proof.version) === entry.version,
       'the entry is of another version');
  checkInclusion(entry.version, checkpoint.size, leafHash(bytes),
                 proof.inclusion.map((item) => exactBase64(String(item), 'inclusion')),
                 checkpoint.root);
  const payload = decodePayload(entry.payload);
  governedState(summary, summary.version);
  if (entry.version === 0n) {
    need(same(entry.hash, summary.log), 'it is the genesis of another log');
  } else {
    const state = governedState(summary, entry.version - 1n);
    state.skipTo(entry.version - 1n, entry.prev, state.at);
    need(entry.at >= state.at, 'it is older than an entry about signers before it');
    state.checkFits(entry, payload, true);
    state.checkApprovals(entry, payload.change);
  }
  return `version ${entry.version} ${b3text(entry.hash)} log ${b3text(summary.log)}`;
}

function run([command, ...words]) {
  try {
    if (command === 'data') return { ok: true, said: verifyData(...words) };
    if (command === 'proof') return { ok: true, said: verifyProof(...words) };
  } catch (error) {
    if (error instanceof Refused) return { ok: false, said: error.message };
    throw error;
  }
  throw new Error('usage: verify.mjs data DIRECTORY VKEY [KEPT] | proof FILE [VKEY] | batch FILE');
}

if (process.argv[2] === 'batch') {
  for (const line of readFileSync(process.argv[3], 'utf8').split('\n')) {
    if (line !== '') console.log(JSON.stringify(run(JSON.parse(line))));
  }
} else {
  const result = run(process.argv.slice(2));
  console.log((result.ok ? 'ok ' : 'refused: ') + result.said);
  process.exitCode = result.ok ? 0 : 1;
}
