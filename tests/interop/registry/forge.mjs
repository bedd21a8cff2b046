// Logs that no honest server writes, and a few that look odd and are right: each a directory, with
// what a verifier must say of it.
//
//   node forge.mjs OUT        OUT/<name>/registry, OUT/<name>/kept.note for some; OUT/cases.json:
//                             [{"name", "holds", "kept", "because"}]; OUT/<name>.proof and
//                             OUT/proofs.json the same for proof files. The log's key is OUT/vkey
//                             and, as secret, OUT/<name>/keys/registry.pem
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blake3, encodeCbor } from './values.mjs';
import { State, decodeEntry, decodePayload } from './rules.mjs';
import { inclusionProof, leafHash, rootOf } from './tree.mjs';
import { originOf, printVkey, snapshotOf } from './checkpoint.mjs';
import { decodeCbor } from './values.mjs';
import {
  Key, approvalText, asMaps, checkpointText, logFile, makeEntry, makeFrame, makeSegment, signNote,
  signerOf, ulid,
} from './make.mjs';

const BEGIN = 1767225600000;
const DAY = 86400000;
const key = (byte) => new Key(Buffer.alloc(32, byte));
const [ada, bob, eve, dan, mallory, server] = [1, 2, 3, 5, 6, 4].map(key);
const THREE = [signerOf('ada', ada), signerOf('bob', bob), signerOf('eve', eve)];
const region = (id, more = {}) => ({ type: 'region', id, ...more });
const update = (...set) => ({ kind: 'update', set });
const IDENTITY = Buffer.alloc(16, 0xa5);

// A log under construction: entries as they are told, right or wrong.
class Log {
  constructor(genesis = { kind: 'genesis', threshold: 2, signers: THREE }) {
    this.entries = [];
    this.state = new State();
    this.notes = [];
    this.at = BEGIN;
    this.add(makeEntry({
      version: 0, prev: Buffer.alloc(32), proposal: ulid(BEGIN), at: BEGIN, expires: 0,
      payload: encodeCbor(asMaps({ change: genesis })),
    }));
  }

  get log() {
    return blake3(this.entries[0]);
  }

  add(bytes) {
    this.entries.push(bytes);
    try {
      const entry = decodeEntry(bytes);
      this.state.apply(entry, decodePayload(entry.payload).change);
    } catch {
      // What cannot be understood has no state; no checkpoint follows it.
    }
    return this;
  }

  // A version with this change, approved by `signers`; `more` overrides what an entry says.
  entry(change, signers = [ada, bob], more = {}) {
    const version = this.entries.length;
    const at = this.at + 1000 * version;
    return {
      version, prev: blake3(this.entries.at(-1)), at, expires: BEGIN + DAY, log: this.log,
      proposal: ulid(at, BigInt(version)), signers,
      payload: encodeCbor(asMaps({ change, ...(more.payload ?? {}) })), ...more.entry,
    };
  }

  commit(change, signers, more) {
    return this.add(makeEntry(this.entry(change, signers, more)));
  }

  checkpoint(more = {}, by = server) {
    const version = this.entries.length - 1;
    const snapshot = snapshotOf(this.state);
    const [summary] = decodeCbor(snapshot, 'snapshot').map((part) => Buffer.from(part));
    const text = checkpointText({
      log: this.log, version, root: rootOf(this.entries.map(leafHash)), prunedBelow: 0,
      hash: blake3(this.entries.at(-1)), state: blake3(summary), ...more,
    });
    const note = signNote(originOf(this.log), by, text);
    this.notes.push({ version, note, snapshot });
    return this;
  }

  // By name what belongs into the folder `registry`. A segment for each two versions.
  files() {
    const files = new Map([['log/LOG', logFile(IDENTITY)]]);
    let closes;
    for (let first = 0; first < this.entries.length; first += 2) {
      const segment = makeSegment(IDENTITY, first, this.entries.slice(first, first + 2), closes);
      files.set(`log/segments/${segment.name}`, segment.bytes);
      closes = { first, offset: segment.bytes.length };
      this.last = { first, ...segment };
    }
    const size = this.notes.length > 0 ? this.notes.at(-1).version + 1 : 0;
    files.set('tree/0', Buffer.concat(this.entries.slice(0, size).map(leafHash)));
    for (const { version, note, snapshot } of this.notes) {
      const name = 'checkpoints/' + String(version).padStart(20, '0');
      files.set(`${name}.note`, note);
      if (snapshot) files.set(`${name}.state`, snapshot);
    }
    return files;
  }
}

// Three versions and a checkpoint of them.
const usual = () =>
  new Log().commit(update(region('eu'))).commit(update(region('us', { title: 'West' })))
    .checkpoint();
const rotated = (signers, approvers, threshold = 2) =>
  usual().commit({ kind: 'signers', threshold, signers }, approvers);
const sizeOf = (log) => log.entries.length;

const cases = [];
const add = (name, holds, because, log, more = {}) =>
  cases.push({ name, holds, because, files: log instanceof Log ? log.files() : log, ...more });
const good = (name, log, more) => add(name, true, null, log, more);
const bad = (name, because, log, more) => add(name, false, because, log, more);

// Right, though unusual.
good('usual', usual());
good('tail', usual().commit(update(region('af'))));
good('removed-nothing', usual().commit({ kind: 'update', remove: ['node/none'] }));
good('all-approve', usual().commit(update(region('af')), [ada, bob, eve]));
good('rotation', rotated([THREE[0], THREE[1], signerOf('dan', dan)], [ada, bob]));
good('rotation-new', rotated([THREE[0], signerOf('dan', dan), signerOf('mal', mallory)],
                             [ada, bob, dan]).checkpoint());
good('threshold-only', rotated(THREE, [ada, eve], 1).commit(update(region('af')), [eve]));
good('supersede', usual().commit({
  kind: 'supersede', version: 2, reason: 'typo', change: update(region('us', { title: 'East' })),
}).checkpoint());
good('supersede-nothing', usual().commit({
  kind: 'supersede', version: 2, reason: 'undo', change: { kind: 'update' },
}).commit({ kind: 'supersede', version: 3, reason: 'redo', change: { kind: 'update' } })
  .checkpoint());
good('revoke', rotated([...THREE, signerOf('dan', dan)], [ada, bob])
  .commit({ kind: 'revoke', signers: [eve.id], reason: 'lost' }).checkpoint());
good('revoke-undone', rotated([...THREE, signerOf('dan', dan)], [ada, bob])
  .commit({ kind: 'revoke', signers: [eve.id], reason: 'lost' })
  .commit({ kind: 'supersede', version: 4, reason: 'found', change: { kind: 'update' } })
  .commit(update(region('af')), [ada, eve]).checkpoint());
good('if-head', usual().commit(update(region('af')), [ada, bob], {
  payload: { if_head: { version: 2, hash: 'b3:' + blake3(usual().entries[2]).toString('hex') } },
}));
good('last-second', rotated(
  [{ ...THREE[0], not_after: '2026-01-01T00:00:04Z' }, THREE[1], THREE[2]], [ada, bob])
  .commit(update(region('af')), [ada, bob]));
good('node-keys', usual().commit(update(...['', '=', '=='].map((end, i) => (
  { type: 'node', id: `n${i}`, public_key: '-'.repeat(42) + '_' + end })))));
good('reordered', new Log().commit(update(region('us'))).commit(update(region('eu'))).checkpoint());
{
  const files = usual().files();
  const name = 'log/segments/00000000000000000000.seg';
  files.set(name, Buffer.concat([files.get(name), Buffer.from('does not count')]));
  good('beyond-closes', files);
}
{
  const log = usual();
  const files = log.files();
  const { name, bytes, first } = log.last;
  const end = bytes.length;
  const next = makeFrame(IDENTITY, first, end, sizeOf(log), Buffer.alloc(2000, 7), end);
  const place = `log/segments/${name}`;
  good('torn', new Map([...files, [place, Buffer.concat([bytes, next.subarray(0, 900)])]]));
  const holed = Buffer.from(next);
  holed.fill(0, 600, 1800);
  good('torn-sector', new Map([...files, [place, Buffer.concat([bytes, holed])]]));
  const rotten = Buffer.from(next);
  rotten[700] ^= 1;
  bad('rotten-end', /damaged/, new Map([...files, [place, Buffer.concat([bytes, rotten])]]));
  bad('garbage-end', /damaged/,
      new Map([...files, [place, Buffer.concat([bytes, Buffer.alloc(600, 1)])]]));
}

// Approvals.
const plain = update(region('af'));
const forged = (name, because, signers, more, change = plain) =>
  bad(name, because, usual().commit(change, signers, more));
forged('nobody', /too few/, []);
forged('one-approval', /too few/, [ada]);
forged('outsider', /not one of the signers/, [ada, bob, mallory]);
forged('outsider-counts', /not one of the signers/, [ada, mallory]);
forged('other-key', /does not verify/, [ada, { signer: bob.id, signature: Buffer.alloc(64, 9) }]);
forged('zero-signature', /does not verify/,
       [ada, bob, { signer: eve.id, signature: Buffer.alloc(64) }]);
{
  const log = usual();
  const right = log.entry(plain);
  const text = (more) => {
    const of = { ...right, ...more };
    return approvalText(of.log, of.proposal, of.payload, of.expires);
  };
  const with_ = (name, because, message, who = bob) => bad(name, because, usual().commit(
    plain, [ada, { signer: bob.id, signature: who.sign(message) }]));
  with_('signed-by-another', /does not verify/, text({}), mallory);
  with_('foreign-log', /does not verify/, text({ log: Buffer.alloc(32, 1) }));
  with_('wrong-proposal', /does not verify/, text({ proposal: ulid(BEGIN) }));
  with_('other-payload', /does not verify/, text({ payload: Buffer.from('a0', 'hex') }));
  with_('other-expiry', /does not verify/, text({ expires: BEGIN + DAY + 1000 }));
  const replayed = decodeEntry(log.entries[2]).approvals;
  bad('replayed', /does not verify/, usual().commit(plain, replayed));
  // S + L is a second encoding of the same signature to a careless verifier.
  const signature = bob.sign(text({}));
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  let s = BigInt('0x' + Buffer.from(signature.subarray(32)).reverse().toString('hex')) + order;
  const malleable = Buffer.from(signature);
  for (let i = 32; i < 64; i += 1, s >>= 8n) malleable[i] = Number(s & 255n);
  bad('malleable', /does not verify/, usual().commit(
    plain, [ada, { signer: bob.id, signature: malleable }]));
}
{
  const log = usual();
  const entry = log.entry(plain);
  const map = decodeCbor(makeEntry(entry), 'entry');
  const [first, second] = map.get('approvals');
  const told = (name, because, change) => {
    const other = new Map(map);
    change(other);
    bad(name, because, usual().add(encodeCbor(other)));
  };
  told('duplicate-approval', /sorted/, (m) => m.set('approvals', [first, first]));
  told('unsorted-approvals', /sorted/, (m) => m.set('approvals', [second, first]));
  told('extra-key', /has the key/, (m) => m.set('note', 1));
  told('missing-key', /has no/, (m) => m.delete('expires'));
  told('negative-time', /out of bounds/, (m) => m.set('at', -1));
  told('version-gap', /version 4/, (m) => m.set('version', 4));
  told('version-again', /version 2/, (m) => m.set('version', 2));
  told('wrong-prev', /prev/, (m) => m.set('prev', Buffer.alloc(32, 7)));
  told('expired', /expired/, (m) => m.set('at', BEGIN + DAY));
  told('clock-back', /older/, (m) => m.set('at', BEGIN));
  told('lower-case-ulid', /ULID/, (m) => m.set('proposal', m.get('proposal').toLowerCase()));
  told('text-payload', /byte string/, (m) => m.set('payload', 'text'));
  const bytes = makeEntry(entry);
  const at = bytes.indexOf(Buffer.from('6776657273696f6e03', 'hex'));
  bad('long-number', /CBOR/, usual().add(Buffer.concat(
    [bytes.subarray(0, at + 8), Buffer.from('1803', 'hex'), bytes.subarray(at + 9)])));
  bad('trailing-byte', /CBOR/, usual().add(Buffer.concat([bytes, Buffer.from([0])])));
  bad('indefinite', /CBOR/, usual().add(Buffer.concat(
    [Buffer.from([0xbf]), bytes.subarray(1), Buffer.from([0xff])])));
  bad('fractional-second', /expired/, usual().commit(
    plain, undefined, { entry: { expires: BEGIN + DAY + 1 } }));
  bad('same-version-twice', /version 2/, usual().add(usual().entries[2]));
}

{
  // Approved once, and committed again by whoever writes the log.
  const log = usual();
  const entry = decodeEntry(log.entries[1]);
  bad('proposal-again', /has its proposal/, log.commit(plain, entry.approvals, { entry: {
    proposal: entry.proposal, payload: entry.payload, expires: Number(entry.expires) } }));
}

// Changes.
const refused = (name, because, change, signers) => forged(name, because, signers, {}, change);
refused('second-genesis', /only version 0/, { kind: 'genesis', threshold: 2, signers: THREE });
refused('unknown-kind', /no such kind/, { kind: 'rename' });
refused('empty-update', /does nothing/, { kind: 'update' });
refused('unknown-field', /no field/, update(region('af', { colour: 'red' })));
refused('unknown-type', /no such type/, update({ type: 'planet', id: 'mars' }));
refused('bad-id', /id of a descriptor/, update(region('-af')));
refused('named-twice', /twice/, { kind: 'update', set: [region('af')], remove: ['region/af'] });
refused('node-key', /'public_key'/, update({ type: 'node', id: 'n', public_key: 'A'.repeat(42) }));
refused('big-weight', /'weight'/, update({ type: 'node', id: 'n', weight: 65536 }));
refused('threshold-all', /threshold/, { kind: 'signers', threshold: 3, signers: THREE },
        [ada, bob, eve]);
refused('threshold-none', /threshold/, { kind: 'signers', threshold: 0, signers: THREE });
refused('signer-twice', /twice/, { kind: 'signers', threshold: 1, signers: [THREE[0], THREE[0]] });
refused('revoke-too-many', /too few would be left/,
        { kind: 'revoke', signers: [eve.id], reason: 'x' });
refused('revoke-stranger', /no signer/, { kind: 'revoke', signers: [dan.id], reason: 'x' });
refused('supersede-older', /supersedes not HEAD/,
        { kind: 'supersede', version: 1, reason: 'x', change: plain });
refused('supersede-twice-nested', /no such kind/, {
  kind: 'supersede', version: 2, reason: 'x',
  change: { kind: 'supersede', version: 2, reason: 'x', change: plain },
});
bad('supersede-genesis', /supersedes not HEAD/, new Log().commit(
  { kind: 'supersede', version: 0, reason: 'x', change: plain }));
bad('if-head-other', /if_head/, usual().commit(plain, undefined, {
  payload: { if_head: { version: 2, hash: 'b3:' + '00'.repeat(32) } } }));
for (const [name, text] of [
  ['small-order', Buffer.alloc(32).toString('base64')],
  ['small-order-sign', Buffer.from('ec' + 'ff'.repeat(31), 'hex').toString('base64')],
  ['not-canonical', Buffer.from('ed' + 'ff'.repeat(30) + '7f', 'hex').toString('base64')],
  ['short-key', 'AAAA'],
  ['loose-base64', ada.public.toString('base64url')],
]) {
  bad(`key-${name}`, /public_key/, rotated(
    [THREE[1], THREE[2], { name: 'x', public_key: text }], [ada, bob, eve]));
}

// Who decides when.
const four = [...THREE, signerOf('dan', dan)];
const revoked = () =>
  rotated(four, [ada, bob]).commit({ kind: 'revoke', signers: [eve.id], reason: 'lost' });
bad('rotation-without-new', /new signers/,
    rotated([signerOf('dan', dan), signerOf('mal', mallory), THREE[2]], [ada, bob]));
bad('rotation-without-old', /too few of the signers/,
    rotated([signerOf('dan', dan), signerOf('mal', mallory), THREE[2]], [dan, mallory, eve]));
bad('not-yet-signer', /not one of the signers/, usual().commit(plain, [ada, bob, dan]));
bad('left-signer', /not one of the signers/,
    rotated([THREE[0], THREE[1], signerOf('dan', dan)], [ada, bob]).commit(plain, [ada, bob, eve]));
bad('revoked-approves', /was revoked/, revoked().commit(plain, [ada, bob, eve]));
bad('revoked-counts', /was revoked/, revoked().commit(plain, [ada, eve]));
bad('revoked-comes-back', /was revoked/, revoked().commit(
  { kind: 'signers', threshold: 2, signers: four }, [ada, bob, dan]));
bad('undo-revoke-by-revoked', /was revoked/, revoked().commit(
  { kind: 'supersede', version: 4, reason: 'x', change: { kind: 'update' } }, [ada, bob, eve]));
bad('expired-key', /has expired/, rotated(
  [{ ...THREE[0], not_after: '2026-01-01T00:00:03Z' }, THREE[1], THREE[2]], [ada, bob])
  .commit(plain, [ada, bob]));
bad('raised-threshold', /too few of the new/, rotated(four, [ada, bob], 3));

// Checkpoints, snapshots, tree.
const before = () => new Log().commit(update(region('eu'))).commit(plain);
bad('other-checkpoint-key', /has not signed/, before().checkpoint({}, mallory));
bad('wrong-root', /another root/, before().checkpoint({ root: Buffer.alloc(32, 1) }));
bad('wrong-chain', /hash/, before().checkpoint({ hash: Buffer.alloc(32, 1) }));
bad('wrong-state', /state/, before().checkpoint({ state: Buffer.alloc(32, 1) }));
bad('pruned-above', /pruned-below/, before().checkpoint({ prunedBelow: 3 }));
bad('ahead', /ends before/, (() => {
  const log = usual().commit(plain).checkpoint();
  log.entries.pop();
  return log;
})());
const changed = (name, because, change, log = usual()) => {
  const files = log.files();
  change(files);
  bad(name, because, files);
};
const NOTE = 'checkpoints/00000000000000000002.note';
const STATE = 'checkpoints/00000000000000000002.state';
const SEGMENT = 'log/segments/00000000000000000002.seg';
changed('renamed-note', /another version/, (files) => {
  files.set('checkpoints/00000000000000000001.note', files.get(NOTE));
});
changed('edited-note', /does not verify/, (files) => {
  files.set(NOTE, files.get(NOTE).replace('pruned-below 0', 'pruned-below 1'));
});
changed('stale-state', /state/, (files) => {
  files.set(STATE, snapshotOf(new Log().commit(update(region('eu'))).state));
});
changed('empty-state', /CBOR/, (files) => files.set(STATE, Buffer.alloc(0)));
changed('missing-tree', /too short/, (files) => files.delete('tree/0'));
changed('swapped-leaves', /leaf 0/, (files) => {
  const tree = files.get('tree/0');
  files.set('tree/0', Buffer.concat(
    [tree.subarray(32, 64), tree.subarray(0, 32), tree.subarray(64)]));
});
changed('missing-segment', /no snapshot|damaged|gone|closes/, (files) => {
  files.delete('log/segments/00000000000000000000.seg');
});
changed('missing-last-segment', /ends before/, (files) => files.delete(SEGMENT));
changed('other-identity', /another log/, (files) => {
  files.set(SEGMENT, makeSegment(Buffer.alloc(16, 1), 2, [usual().entries[2]]).bytes);
});
changed('no-LOG-line', /LOG/, (files) => files.set('log/LOG', 'ron frame log 2\n'));
changed('swapped-versions', /version/, (files) => {
  const { entries } = usual();
  files.set('log/segments/00000000000000000000.seg',
            makeSegment(IDENTITY, 0, [entries[0], entries[2]]).bytes);
});

// Against a checkpoint that somebody kept.
{
  const long = usual().commit(plain).checkpoint();
  const kept = long.notes.at(-1).note;
  const short = usual();
  const fork = usual().commit(update(region('xx'))).checkpoint();
  good('kept', long, { kept });
  good('kept-older', long, { kept: usual().notes[0].note });
  bad('rolled-back', /rolled back/, short, { kept });
  bad('forked', /another one/, fork, { kept });
  good('fork-alone', fork);
  bad('kept-of-others', /has not signed/, long,
      { kept: usual().checkpoint({}, mallory).notes.at(-1).note });
  const pruned = long.files();
  for (const name of ['log/segments/00000000000000000000.seg']) pruned.delete(name);
  bad('pruned-unasked', /no checkpoint allows/, pruned);
  const asked = usual().commit(plain).checkpoint({ prunedBelow: 2 });
  const allowed = asked.files();
  allowed.delete('log/segments/00000000000000000000.seg');
  good('pruned', allowed, { kept: usual().notes[0].note });
}

// The log's id is the same for all of them but these.
bad('other-genesis', /another log|has not signed/,
    new Log({ kind: 'genesis', threshold: 1, signers: THREE }).commit(plain).checkpoint());
bad('genesis-all', /threshold/, new Log({ kind: 'genesis', threshold: 3, signers: THREE }));

// Proofs of the last version, under a checkpoint that the server signed all the same.
const proofs = [];
const prove = (name, holds, because, log) => {
  log.checkpoint();
  const [summary] = decodeCbor(log.notes.at(-1).snapshot, 'snapshot');
  const base64 = (bytes) => Buffer.from(bytes).toString('base64');
  proofs.push({ name, holds, because, text: JSON.stringify({
    format: 'ron-registry-proof/v1', version: sizeOf(log) - 1, entry: base64(log.entries.at(-1)),
    inclusion: inclusionProof(sizeOf(log) - 1, log.entries.map(leafHash)).map(base64),
    checkpoint: log.notes.at(-1).note, vkey: printVkey(originOf(log.log), server.public),
    summary: base64(summary),
  }) });
};
const proven = (name, log) => prove(name, true, null, log);
const unproven = (name, because, log) => prove(name, false, because, log);
proven('usual', usual());
proven('genesis', new Log());
proven('rotation', rotated([THREE[0], THREE[1], signerOf('dan', dan)], [ada, bob]));
proven('revoked', revoked());
proven('after-revoke', revoked().commit(plain, [bob, dan]));
proven('supersede', usual().commit({ kind: 'supersede', version: 2, reason: 'x', change: plain }));
proven('undone-rotation', rotated(four, [ada, bob]).commit(
  { kind: 'supersede', version: 3, reason: 'x', change: plain }));
unproven('nobody', /too few/, usual().commit(plain, []));
unproven('one-approval', /too few/, usual().commit(plain, [ada]));
unproven('outsider', /not one of/, usual().commit(plain, [ada, bob, mallory]));
unproven('other-key', /does not verify/, usual().commit(
  plain, [ada, { signer: bob.id, signature: Buffer.alloc(64, 9) }]));
unproven('replayed', /does not verify/, usual().commit(
  plain, decodeEntry(usual().entries[2]).approvals));
unproven('expired', /expired/, usual().commit(plain, undefined, { entry: { at: BEGIN + DAY } }));
unproven('fraction', /expired/, usual().commit(
  plain, undefined, { entry: { expires: BEGIN + DAY + 1 } }));
unproven('revoked-approves', /was revoked/, revoked().commit(plain, [ada, bob, eve]));
unproven('expired-key', /has expired/, rotated(
  [{ ...THREE[0], not_after: '2026-01-01T00:00:03Z' }, THREE[1], THREE[2]], [ada, bob])
  .commit(plain, [ada, bob]));
unproven('rotation-without-new', /new signers/,
         rotated([signerOf('dan', dan), signerOf('mal', mallory), THREE[2]], [ada, bob]));
unproven('built-on-a-forged-rotation', /new signers/,
         rotated([signerOf('dan', dan), signerOf('mal', mallory), THREE[2]], [ada, bob])
           .commit(plain, [dan, mallory]));
unproven('supersede-older', /not HEAD/, usual().commit(
  { kind: 'supersede', version: 1, reason: 'x', change: plain }));
unproven('revoke-too-many', /too few would be left/, usual().commit(
  { kind: 'revoke', signers: [eve.id], reason: 'x' }));
unproven('if-head-other', /if_head/, usual().commit(plain, undefined, {
  payload: { if_head: { version: 2, hash: 'b3:' + '00'.repeat(32) } } }));
unproven('second-genesis', /only version 0/, usual().commit(
  { kind: 'genesis', threshold: 2, signers: THREE }));

const out = process.argv[2];
const vkey = printVkey(originOf(usual().log), server.public);
const write = (path, bytes) => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, bytes, { mode: 0o600 });
};
for (const { name, files, kept } of cases) {
  for (const [file, bytes] of files) write(join(out, name, 'registry', file), bytes);
  write(join(out, name, 'keys', 'registry.pem'), server.pem());
  if (kept) write(join(out, name, 'kept.note'), kept);
}
for (const { name, text } of proofs) write(join(out, `${name}.proof`), text);
write(join(out, 'proofs.json'), JSON.stringify(proofs.map(({ name, holds, because }) => (
  { name, holds, because: because ? because.source : null }))));
write(join(out, 'vkey'), vkey);
write(join(out, 'cases.json'), JSON.stringify(cases.map(({ name, holds, kept, because }) => (
  { name, holds, kept: Boolean(kept), because: because ? because.source : null }))));
