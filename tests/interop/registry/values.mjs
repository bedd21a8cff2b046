// Hashes, base64, times and deterministic CBOR, as docs/registry-format.md defines them.
import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto';
import { blake3 as noble } from '@noble/hashes/blake3';
import { decode, encode as encodeCborg } from 'cborg';

export class Refused extends Error {}

export function need(holds, why) {
  if (!holds) throw new Refused(why);
}

export const blake3 = (bytes) => Buffer.from(noble(bytes));
export const sha256 = (...parts) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
export const b3text = (hash) => 'b3:' + hash.toString('hex');
export const same = (a, b) => Buffer.compare(a, b) === 0;

// One form of base64 only: RFC 4648 §4 with padding.
export function exactBase64(text, what) {
  const bytes = Buffer.from(text, 'base64');
  need(bytes.toString('base64') === text, `${what} is not base64`);
  return bytes;
}

// Text keys, integers, no floats; anything that is not what encode() makes is refused.
export function decodeCbor(bytes, what) {
  let value;
  try {
    value = decode(bytes, {
      strict: true,
      useMaps: true,
      allowIndefinite: false,
      allowUndefined: false,
      allowNaN: false,
      allowInfinity: false,
      allowBigInt: true,
      rejectDuplicateMapKeys: true,
    });
  } catch (error) {
    throw new Refused(`${what} is not CBOR: ${error.message}`);
  }
  checkSubset(value, what);
  need(same(Buffer.from(encodeCbor(value)), bytes), `${what} is not deterministic CBOR`);
  return value;
}

function checkSubset(value, what) {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (value instanceof Uint8Array) return;
  if (typeof value === 'bigint') {
    need(value >= -(2n ** 63n) && value < 2n ** 64n, `${what} has a number beyond 64 bits`);
  } else if (typeof value === 'number') {
    need(Number.isSafeInteger(value), `${what} has a number that is no integer`);
  } else if (Array.isArray(value)) {
    value.forEach((item) => checkSubset(item, what));
  } else {
    need(value instanceof Map, `${what} has something that is not in the subset`);
    for (const [key, item] of value) {
      need(typeof key === 'string', `${what} has a key that is not text`);
      checkSubset(item, what);
    }
  }
}

// cborg sorts keys by length first, as RFC 8949 §4.2.1 orders text.
export const encodeCbor = (value) => Buffer.from(encodeCborg(value));

export function countValues(value) {
  if (Array.isArray(value)) return value.reduce((sum, item) => sum + countValues(item), 1);
  if (value instanceof Map) {
    return [...value.values()].reduce((sum, item) => sum + countValues(item), 1);
  }
  return 1;
}

// The keys of a map: all of `required`, perhaps some of `optional`, and no others.
export function fields(value, what, required, optional = []) {
  need(value instanceof Map, `${what} is not a map`);
  for (const key of value.keys()) {
    need(required.includes(key) || optional.includes(key), `${what} has the key '${key}'`);
  }
  for (const key of required) need(value.has(key), `${what} has no '${key}'`);
  return Object.fromEntries(value);
}

export function uint(value, what, max = 2n ** 64n - 1n) {
  need(typeof value === 'number' || typeof value === 'bigint', `${what} is not a number`);
  need(value >= 0 && BigInt(value) <= BigInt(max), `${what} is out of bounds`);
  return BigInt(value);
}

export function bytesOf(value, what, length) {
  need(value instanceof Uint8Array, `${what} is not a byte string`);
  need(length === undefined || value.length === length, `${what} does not have ${length} bytes`);
  return Buffer.from(value);
}

export function listOf(value, what, most) {
  need(Array.isArray(value) && value.length <= most, `${what} is not a list of at most ${most}`);
  return value;
}

// Text for people.
export function plain(value, what, most, least = 1) {
  need(typeof value === 'string', `${what} is not text`);
  const bytes = Buffer.from(value);
  need(bytes.length >= least && bytes.length <= most, `${what} has a length out of bounds`);
  need(!bytes.some((byte) => byte < 0x20 || byte === 0x7f), `${what} has control characters`);
  return value;
}

const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

// RFC 3339 as whole seconds since 1970.
export function parseTime(text, what) {
  const match = RFC3339.exec(text);
  need(match, `${what} is not an RFC 3339 time`);
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  need(date.getUTCMonth() === month - 1 && date.getUTCDate() === day && month > 0,
       `${what} is no day of the calendar`);
  need(hour < 24 && minute < 60 && second < 60, `${what} is no time of the day`);
  const [offsetHour, offsetMinute] = [Number(match[8] ?? 0), Number(match[9] ?? 0)];
  need(offsetHour < 24 && offsetMinute < 60, `${what} has no such offset`);
  const offset = (offsetHour * 60 + offsetMinute) * 60 * (match[7] === '-' ? -1 : 1);
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset;
  need(seconds >= -62167219200 && seconds <= 253402300799, `${what} is out of bounds`);
  return BigInt(seconds);
}

export const printTime = (ms) => new Date(Number(ms)).toISOString().slice(0, 19) + 'Z';

const SMALL_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
];

export function checkKey(key, what) {
  const y = Buffer.from(key);
  y[31] &= 0x7f;
  const number = BigInt('0x' + Buffer.from(y).reverse().toString('hex'));
  need(number < 2n ** 255n - 19n, `${what} is not in canonical form`);
  need(!SMALL_ORDER.includes(y.toString('hex')), `${what} is a point of small order`);
}

const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

export function ed25519Verifies(key, message, signature) {
  try {
    const made = createPublicKey(
      { key: Buffer.concat([SPKI_HEAD, key]), format: 'der', type: 'spki' });
    return verifySignature(null, message, made, signature);
  } catch {
    return false;
  }
}
