// The examples of docs/registry-format.md, made anew.
//
//   node examples.mjs check PAGE         exit 1 if a block of the page is other than what is made
//   node examples.mjs write PAGE         puts them there
//   node examples.mjs directory DIR      a data directory of them: registry/ and keys/
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { b3text, blake3, encodeCbor } from './values.mjs';
import { State } from './rules.mjs';
import { inclusionProof, leafHash, rootOf } from './tree.mjs';
import { originOf, printVkey, snapshotOf } from './checkpoint.mjs';
import {
  Key, approvalText, asMaps, checkpointText, logFile, makeEntry, makeFrame, makeSegment,
  segmentHead, signNote, signerOf, ulid,
} from './make.mjs';
import { decodeCbor } from './values.mjs';

const BEGIN = 1767225600000;  // 2026-01-01T00:00:00Z
const DAY = 86400000;

function makeExample() {
  const [ada, bob, server] = [1, 2, 4].map((byte) => new Key(Buffer.alloc(32, byte)));
  const identity = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
  const signers = [signerOf('ada', ada), signerOf('bob', bob)];
  const genesisPayload = encodeCbor(asMaps({ change: { kind: 'genesis', threshold: 1, signers } }));
  const entry0 = makeEntry({
    version: 0, prev: Buffer.alloc(32), proposal: ulid(BEGIN), payload: genesisPayload, at: BEGIN,
    expires: 0,
  });
  const log = blake3(entry0);
  const proposal = ulid(BEGIN + 30000, 1n);
  const expires = BEGIN + 30000 + DAY;
  const payload = encodeCbor(asMaps({
    change: { kind: 'update', set: [{ type: 'region', id: 'eu', title: 'Europe' }] },
    reason: 'first region',
  }));
  const entry1 = makeEntry({
    version: 1, prev: log, proposal, payload, at: BEGIN + 60000, expires, log, signers: [ada],
  });
  const state = new State();
  state.take(entry0);
  state.take(entry1);
  const snapshot = snapshotOf(state);
  const [summary, descriptors] = decodeCbor(snapshot, 'snapshot').map((part) => Buffer.from(part));
  const leaves = [leafHash(entry0), leafHash(entry1)];
  const origin = originOf(log);
  const note = signNote(origin, server, checkpointText({
    log, version: 1, root: rootOf(leaves), hash: blake3(entry1), prunedBelow: 0,
    state: blake3(summary),
  }));
  const proof = {
    checkpoint: note,
    entry: entry1.toString('base64'),
    format: 'ron-registry-proof/v1',
    inclusion: inclusionProof(1, leaves).map((hash) => hash.toString('base64')),
    summary: summary.toString('base64'),
    version: 1,
    vkey: printVkey(origin, server.public),
  };
  const text = approvalText(log, proposal, payload, expires);
  const journal = [
    encodeCbor([1, proposal, BEGIN + 30000, expires, '4c69227a', payload, []]),
    encodeCbor([2, proposal, ada.id, ada.sign(text)]),
    encodeCbor([3, proposal]),
  ];
  const segment = makeSegment(identity, 0, [entry0, entry1]);
  const length = (entry) => Buffer.from([entry.length >> 8, entry.length & 255]);
  return {
    blocks: {
      'payload-0': genesisPayload, 'entry-0': entry0, 'payload-1': payload, 'entry-1': entry1,
      'approval-1': text.toString(), 'signature-1': ada.sign(text),
      'keys': [['ada', ada], ['bob', bob], ['the server', server]]
        .map(([name, key]) => `${name}: ${key.public.toString('hex')} ${key.id}\n`).join(''),
      'hashes': `hash(0) ${b3text(log)}\nhash(1) ${b3text(blake3(entry1))}\n`,
      'LOG': logFile(identity),
      'segment-head': segmentHead(identity, 0),
      'frame-1': makeFrame(identity, 0, segment.bytes.length - framedBytes(entry1), 1, entry1,
                           segment.bytes.length - framedBytes(entry1)),
      'journal-1': journal[0], 'journal-2': journal[1], 'journal-3': journal[2],
      'tree': `leaf 0 ${leaves[0].toString('hex')}\nleaf 1 ${leaves[1].toString('hex')}\n` +
        `root   ${rootOf(leaves).toString('hex')}\n`,
      'tile': Buffer.concat(leaves),
      'checkpoint': note, 'vkey': proof.vkey + '\n',
      'summary': summary, 'descriptors': descriptors, 'snapshot': snapshot,
      'proof': JSON.stringify(proof) + '\n',
      'bundle': Buffer.concat([length(entry0), entry0, length(entry1), entry1]),
    },
    files: {
      'registry/log/LOG': logFile(identity),
      [`registry/log/segments/${segment.name}`]: segment.bytes,
      'registry/tree/0': Buffer.concat(leaves),
      'registry/checkpoints/00000000000000000001.note': note,
      'registry/checkpoints/00000000000000000001.state': snapshot,
      'keys/registry.pem': server.pem(),
      'proof.json': JSON.stringify(proof) + '\n',
    },
  };
}

const framedBytes = (content) => 64 + content.length + 8 - ((64 + content.length) % 8);

const printed = (value) => typeof value === 'string' ? value :
  value.toString('hex').replace(/.{1,96}/g, '$&\n');

// The page with its blocks as they must be; all of them have to be there.
function rewrite(page, blocks) {
  const left = new Set(Object.keys(blocks));
  const made = page.replace(/^```(hex|text|json) (\S+)\n[^]*?^```$/gm, (_, kind, name) => {
    if (!left.delete(name)) throw new Error(`the page has ${name} twice, or it is no example`);
    return '```' + `${kind} ${name}\n${printed(blocks[name])}` + '```';
  });
  if (left.size > 0) throw new Error(`the page lacks: ${[...left].join(' ')}`);
  return made;
}

const [command, path] = process.argv.slice(2);
const example = makeExample();
if (command === 'directory') {
  for (const [name, bytes] of Object.entries(example.files)) {
    mkdirSync(join(path, name, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(join(path, name), bytes, { mode: 0o600 });
  }
} else {
  const page = readFileSync(path, 'utf8');
  const made = rewrite(page, example.blocks);
  if (command === 'write') writeFileSync(path, made);
  if (command === 'check' && made !== page) {
    console.log(`${path}: its examples are not what is made; see examples.mjs write`);
    process.exitCode = 1;
  }
}
