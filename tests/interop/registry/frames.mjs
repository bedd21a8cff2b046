// The frame log: segment files of numbered frames, up to an end that may be torn.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { blake3, need, same } from './values.mjs';

const HEAD_BYTES = 64;
const MAX_CONTENT = 2 * 1024 * 1024;
const SECTOR = 512;

export const u64 = (number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(number));
  return bytes;
};
export const segmentName = (first) => first.toString().padStart(20, '0') + '.seg';
const storedBytes = (length) => Math.ceil((HEAD_BYTES + length + 1) / 8) * 8;

export function readIdentity(directory) {
  const text = readFileSync(join(directory, 'LOG'), 'latin1');
  const match = /^ron frame log 1\n([0-9a-f]{32})\n$/.exec(text);
  need(match, 'the file LOG is damaged');
  return Buffer.from(match[1], 'hex');
}

function readSegment(folder, first, identity) {
  const name = segmentName(first);
  const bytes = readFileSync(join(folder, name));
  need(bytes.length >= HEAD_BYTES, `${name} has no head`);
  const head = bytes.subarray(0, HEAD_BYTES);
  need(same(blake3(head.subarray(0, 56)).subarray(0, 8), head.subarray(56)) &&
       head.subarray(0, 8).toString('latin1') === 'RONFRM01' &&
       head.readBigUInt64LE(24) === first && head.readBigUInt64LE(48) === 0n,
       `the head of ${name} is damaged`);
  need(same(head.subarray(8, 24), identity), `${name} belongs to another log`);
  return {
    name, bytes, first, identity,
    closes: { first: head.readBigUInt64LE(32), offset: head.readBigUInt64LE(40) },
  };
}

// The head of a frame at `offset`, if a sound one stands there.
function frameHead(segment, offset) {
  const { bytes } = segment;
  if (offset + HEAD_BYTES > bytes.length) return null;
  const head = bytes.subarray(offset, offset + HEAD_BYTES);
  if (head.subarray(0, 4).toString('latin1') !== 'RONf') return null;
  const length = head.readUInt32LE(4);
  const durableBefore = head.readBigUInt64LE(16);
  if (length > MAX_CONTENT || durableBefore > BigInt(offset)) return null;
  const covered = Buffer.concat(
    [segment.identity, u64(segment.first), u64(offset), head.subarray(0, 56)]);
  if (!same(blake3(covered).subarray(0, 8), head.subarray(56))) return null;
  return {
    number: head.readBigUInt64LE(8), durableBefore, length, hash: head.subarray(24, 56),
    end: offset + storedBytes(length),
  };
}

function contentOf(segment, offset, head) {
  if (head.end > segment.bytes.length) return null;
  const content = segment.bytes.subarray(offset + HEAD_BYTES, offset + HEAD_BYTES + head.length);
  const padding = segment.bytes.subarray(offset + HEAD_BYTES + head.length, head.end);
  const sound = padding.every((byte) => byte === 0xff) && same(blake3(content), head.hash);
  return sound ? content : null;
}

// Frames one behind the other from the first on, and where they end.
function walk(segment, until) {
  const frames = [];
  let offset = HEAD_BYTES;
  for (;;) {
    const number = segment.first + BigInt(frames.length);
    if (until !== undefined && number >= until) break;
    const head = frameHead(segment, offset);
    const content = head && head.number === number ? contentOf(segment, offset, head) : null;
    if (!content) break;
    frames.push({ number, content });
    offset = head.end;
  }
  return { frames, end: offset };
}

function isTorn(segment, end) {
  const { bytes } = segment;
  let reach = HEAD_BYTES;
  for (let offset = end; offset + HEAD_BYTES <= bytes.length;) {
    const head = frameHead(segment, offset);
    if (!head) {
      offset += 8;
      continue;
    }
    if (head.durableBefore > BigInt(end)) return false;
    if (offset === end) reach = head.end - end;
    offset = head.end;
  }
  if (end + reach > bytes.length) return true;
  const last = Math.min(bytes.length, Math.ceil((end + reach) / SECTOR) * SECTOR);
  for (let at = end; at < last;) {
    const next = Math.min(last, (Math.floor(at / SECTOR) + 1) * SECTOR);
    if (bytes.subarray(at, next).every((byte) => byte === 0)) return true;
    at = next;
  }
  return false;
}

// All frames of the log in order: {first, frames}.
export function readFrameLog(directory) {
  const identity = readIdentity(directory);
  const folder = join(directory, 'segments');
  need(existsSync(folder), 'the log has no segments');
  const firsts = readdirSync(folder)
    .filter((name) => /^\d{20}\.seg$/.test(name))
    .map((name) => BigInt(name.slice(0, 20)))
    .sort((a, b) => (a < b ? -1 : 1));
  need(firsts.length > 0, 'the log has no segments');
  const segments = firsts.map((first) => readSegment(folder, first, identity));
  if (firsts[0] === 0n) {
    need(segments[0].closes.first === 0n && segments[0].closes.offset === 0n,
         'the first segment closes another one');
  }
  const frames = [];
  segments.forEach((segment, i) => {
    const next = segments[i + 1];
    const walked = walk(segment, next?.first);
    frames.push(...walked.frames);
    const reached = segment.first + BigInt(walked.frames.length);
    if (next) {
      need(next.closes.first === segment.first && reached === next.first &&
           next.closes.offset === BigInt(walked.end),
           `version ${reached}: ${segment.name} is damaged at ${walked.end}`);
    } else if (walked.end < segment.bytes.length) {
      need(isTorn(segment, walked.end),
           `version ${reached}: ${segment.name} is damaged at ${walked.end}`);
    }
  });
  return { first: firsts[0], frames };
}
