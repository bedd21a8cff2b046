// Makes what docs/registry-format.md describes: keys, entries, segments, checkpoints. For the
// page's examples, and for logs of a test that no server would write.
import { createPrivateKey, createPublicKey, sign as signBytes } from 'node:crypto';
import { b3text, blake3, encodeCbor, printTime } from './values.mjs';
import { signerId } from './rules.mjs';
import { keyIdOf, originOf } from './checkpoint.mjs';
import { segmentName, u64 } from './frames.mjs';

const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

// A key from a seed of 32 bytes.
export class Key {
  constructor(seed) {
    this.secret = createPrivateKey(
      { key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' });
    const der = createPublicKey(this.secret).export({ format: 'der', type: 'spki' });
    this.public = der.subarray(der.length - 32);
    this.id = signerId(this.public);
  }

  static from(pem) {
    const seed = createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' }).subarray(-32);
    return new Key(seed);
  }

  sign(message) {
    return signBytes(null, message, this.secret);
  }

  pem() {
    return this.secret.export({ format: 'pem', type: 'pkcs8' });
  }
}

export function ulid(ms, random = 0n) {
  let text = '';
  for (let value = (BigInt(ms) << 80n) | BigInt(random), i = 0; i < 26; i += 1, value >>= 5n) {
    text = CROCKFORD[Number(value & 31n)] + text;
  }
  return text;
}

// Objects as maps, all the way down.
export function asMaps(value) {
  if (Array.isArray(value)) return value.map(asMaps);
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, asMaps(item)]));
}

export const signerOf = (name, key, more = {}) =>
  ({ name, public_key: key.public.toString('base64'), ...more });

export function approvalText(log, proposal, payload, expires) {
  return Buffer.from(
    `ron-registry/approval/v1\nlog ${b3text(log)}\nproposal ${proposal}\n` +
    `payload ${b3text(blake3(payload))}\nexpires ${printTime(expires)}\n`);
}

// An entry; `signers` are keys that sign, or {signer, signature} as it shall stand there.
export function makeEntry({ version, prev, proposal, payload, at, expires, log, signers = [] }) {
  const text = version === 0 ? null : approvalText(log, proposal, payload, expires);
  const approvals = signers
    .map((one) => one instanceof Key ? { signer: one.id, signature: one.sign(text) } : one)
    .sort((a, b) => (a.signer < b.signer ? -1 : 1))
    .map(({ signer, signature }) => ({ signer, sig: signature }));
  return encodeCbor(asMaps({ at, prev, expires, payload, version, proposal, approvals }));
}

export const logFile = (identity) => `ron frame log 1\n${identity.toString('hex')}\n`;

export function segmentHead(identity, first, closes = { first: 0, offset: 0 }) {
  const head = Buffer.concat([
    Buffer.from('RONFRM01'), identity, u64(first), u64(closes.first), u64(closes.offset), u64(0)]);
  return Buffer.concat([head, blake3(head).subarray(0, 8)]);
}

export function makeFrame(identity, segment, offset, number, content, durableBefore) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(content.length);
  const head = Buffer.concat(
    [Buffer.from('RONf'), length, u64(number), u64(durableBefore), blake3(content)]);
  const covered = Buffer.concat([identity, u64(segment), u64(offset), head]);
  const checksum = blake3(covered).subarray(0, 8);
  const padding = Buffer.alloc(8 - ((64 + content.length) % 8), 0xff);
  return Buffer.concat([head, checksum, content, padding]);
}

// A whole segment, each frame a batch of its own.
export function makeSegment(identity, first, contents, closes) {
  let bytes = segmentHead(identity, first, closes);
  contents.forEach((content, i) => {
    const frame = makeFrame(identity, first, bytes.length, first + i, content, bytes.length);
    bytes = Buffer.concat([bytes, frame]);
  });
  return { name: segmentName(BigInt(first)), bytes };
}

export function checkpointText({ log, version, root, hash, prunedBelow, state }) {
  return `${originOf(log)}\n${version + 1}\n${root.toString('base64')}\n` +
    `chain ${version} ${b3text(hash)}\npruned-below ${prunedBelow}\nstate ${b3text(state)}\n`;
}

export function signNote(name, key, text) {
  const signature = Buffer.concat([keyIdOf(name, key.public), key.sign(Buffer.from(text))]);
  return `${text}\n\u2014 ${name} ${signature.toString('base64')}\n`;
}
