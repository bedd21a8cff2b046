// Entries, what they change, and who has to approve that: docs/registry-format.md from Entry to
// State.
import {
  b3text, blake3, bytesOf, checkKey, countValues, decodeCbor, ed25519Verifies, exactBase64, fields,
  listOf, need, parseTime, plain, printTime, same, uint,
} from './values.mjs';

const MAX_TIME = 253402300799999n;
const ZEROS = Buffer.alloc(32);
const SIGNER = /^[0-9a-f]{16}$/;
const ID = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function decodeEntry(bytes) {
  need(bytes.length <= 1064960, 'the entry is too large');
  const map = decodeCbor(bytes, 'the entry');
  const entry = fields(map, 'the entry',
                       ['at', 'prev', 'expires', 'payload', 'version', 'proposal', 'approvals']);
  need(typeof entry.proposal === 'string' && ULID.test(entry.proposal), 'the proposal is no ULID');
  let before = '';
  const approvals = listOf(entry.approvals, 'approvals', 64).map((item) => {
    const { sig, signer } = fields(item, 'an approval', ['sig', 'signer']);
    need(typeof signer === 'string' && SIGNER.test(signer), 'a signer is not 16 hex digits');
    need(signer > before, 'the approvals are not sorted by signer');
    before = signer;
    return { signer, signature: bytesOf(sig, 'sig', 64) };
  });
  return {
    at: uint(entry.at, 'at', MAX_TIME),
    prev: bytesOf(entry.prev, 'prev', 32),
    expires: uint(entry.expires, 'expires', MAX_TIME),
    payload: bytesOf(entry.payload, 'payload'),
    version: uint(entry.version, 'version'),
    proposal: entry.proposal,
    approvals,
    hash: blake3(bytes),
    bytes,
  };
}

// Payloads.

const isId = (value) => typeof value === 'string' && ID.test(value);
const isUrl = (value) =>
  typeof value === 'string' && Buffer.byteLength(value) <= 256 &&
  /^(http:\/\/|https:\/\/|unix:\/)[\x21-\x7e]+$/.test(value);
const isNumber = (min, max) => (value) =>
  (typeof value === 'number' || typeof value === 'bigint') && value >= min && value <= max;
const isWord = (...words) => (value) => words.includes(value);
const areIds = (value) => Array.isArray(value) && value.length <= 64 && value.every(isId);
const isTitle = (value) => {
  plain(value, 'title', 128, 0);
  return true;
};

const DESCRIPTORS = {
  node: {
    url: isUrl,
    region: isId,
    public_key: (value) => typeof value === 'string' && /^[A-Za-z0-9+/_-]{43}={0,2}$/.test(value),
    weight: isNumber(0, 65535),
    state: isWord('active', 'draining', 'down'),
  },
  service: {
    kind: isWord('gateway', 'storage', 'index', 'registry', 'edge'),
    url: isUrl,
    node: isId,
    region: isId,
  },
  region: { title: isTitle, parent: isId },
  placement: {
    regions: areIds,
    nodes: areIds,
    replication_factor: isNumber(1, 16),
    ec_data_shards: isNumber(1, 32),
    ec_parity_shards: isNumber(1, 16),
  },
};

export function descriptorKey(value) {
  need(value instanceof Map, 'a descriptor is not a map');
  const type = value.get('type');
  need(typeof type === 'string' && Object.hasOwn(DESCRIPTORS, type), 'there is no such type');
  need(isId(value.get('id')), 'the id of a descriptor is none');
  for (const [key, item] of value) {
    if (key === 'type' || key === 'id') continue;
    need(Object.hasOwn(DESCRIPTORS[type], key), `a ${type} has no field '${key}'`);
    need(DESCRIPTORS[type][key](item), `'${key}' of a ${type} is wrong`);
  }
  return `${type}/${value.get('id')}`;
}

function checkKeyText(text) {
  need(typeof text === 'string', 'remove has something that is not text');
  const slash = text.indexOf('/');
  need(slash > 0 && Object.hasOwn(DESCRIPTORS, text.slice(0, slash)) && isId(text.slice(slash + 1)),
       `'${text}' is not type/id`);
  return text;
}

export const signerId = (key) => blake3(key).toString('hex').slice(0, 16);

function parseSigners(change) {
  const signers = new Map();
  for (const item of listOf(change.signers, 'signers', 64)) {
    const one = fields(item, 'a signer', ['name', 'public_key'], ['not_after']);
    plain(one.name, 'name', 64);
    plain(one.public_key, 'public_key', 1024);
    const key = exactBase64(one.public_key, 'public_key');
    need(key.length === 32, 'public_key does not have 32 bytes');
    checkKey(key, 'public_key');
    let notAfter = null;
    if (one.not_after !== undefined) {
      notAfter = parseTime(plain(one.not_after, 'not_after', 40), 'not_after');
    }
    const id = signerId(key);
    need(!signers.has(id), 'a signer is there twice');
    signers.set(id, { name: one.name, key, notAfter });
  }
  const threshold = uint(change.threshold, 'threshold');
  need(threshold >= 1n && threshold < BigInt(signers.size), 'threshold is out of bounds');
  return { threshold, signers };
}

function parseUpdate(value, isInner) {
  const change = fields(value, 'an update', ['kind'], ['set', 'remove']);
  const named = new Set();
  const once = (key) => {
    need(!named.has(key), `${key} is named twice`);
    named.add(key);
    return key;
  };
  const set = listOf(change.set ?? [], 'set', 1024)
    .map((item) => [once(descriptorKey(item)), item]);
  const remove = listOf(change.remove ?? [], 'remove', 1024)
    .map((item) => once(checkKeyText(item)));
  need(change.set !== null && change.remove !== null, 'set or remove is null');
  need(isInner || named.size > 0, 'the update does nothing');
  return { kind: 'update', set, remove };
}

function parseRevoke(value) {
  const change = fields(value, 'a revoke', ['kind', 'signers', 'reason']);
  plain(change.reason, 'reason', 512);
  const ids = listOf(change.signers, 'signers', 64);
  need(ids.length > 0 && new Set(ids).size === ids.length, 'the revoke names nobody, or one twice');
  for (const id of ids) need(typeof id === 'string' && SIGNER.test(id), 'a signer is no id');
  return { kind: 'revoke', ids };
}

function parseChange(value, isInner) {
  need(value instanceof Map, 'the change is not a map');
  const kind = value.get('kind');
  if (kind === 'update') return parseUpdate(value, isInner);
  if (kind === 'revoke') return parseRevoke(value);
  if (kind === 'signers' || (kind === 'genesis' && !isInner)) {
    return { kind, ...parseSigners(fields(value, kind, ['kind', 'threshold', 'signers'])) };
  }
  need(kind === 'supersede' && !isInner, 'there is no such kind of change here');
  const change = fields(value, 'a supersede', ['kind', 'version', 'reason', 'change']);
  plain(change.reason, 'reason', 512);
  return {
    kind, version: uint(change.version, 'version'), change: parseChange(change.change, true),
  };
}

export function decodePayload(bytes) {
  need(bytes.length <= 1048576, 'the payload is too large');
  const map = decodeCbor(bytes, 'the payload');
  need(countValues(map) <= 100000, 'the payload has too many values');
  const payload = fields(map, 'the payload', ['change'], ['reason', 'if_head']);
  if (payload.reason !== undefined) plain(payload.reason, 'reason', 512);
  let ifHead = null;
  if (payload.if_head !== undefined) {
    const { version, hash } = fields(payload.if_head, 'if_head', ['version', 'hash']);
    need(typeof hash === 'string' && /^b3:[0-9a-fA-F]{64}$/.test(hash), 'if_head has no hash');
    ifHead = { version: uint(version, 'version'), hash: Buffer.from(hash.slice(3), 'hex') };
  }
  return { change: parseChange(payload.change, false), ifHead };
}

// What the log says.

const EMPTY = { threshold: 0n, signers: new Map(), revoked: new Set() };

function sameSet(a, b) {
  if (a.threshold !== b.threshold || a.signers.size !== b.signers.size) return false;
  return [...a.signers].every(([id, one]) => {
    const other = b.signers.get(id);
    return other && other.name === one.name && other.notAfter === one.notAfter;
  });
}

const sameGovernance = (a, b) =>
  sameSet(a, b) && a.revoked.size === b.revoked.size &&
  [...a.revoked].every((id) => b.revoked.has(id));

function governed(change, before) {
  if (change.kind === 'genesis' || change.kind === 'signers') {
    return { threshold: change.threshold, signers: change.signers, revoked: before.revoked };
  }
  if (change.kind !== 'revoke') return before;
  const left = new Map([...before.signers].filter(([id]) => !change.ids.includes(id)));
  return {
    threshold: before.threshold, signers: left,
    revoked: new Set([...before.revoked, ...change.ids]),
  };
}

export class State {
  constructor() {
    this.version = -1n;
    this.hash = ZEROS;
    this.log = null;
    this.at = 0n;
    this.now = EMPTY;
    this.descriptors = new Map();
    this.replaced = [];  // what HEAD's change replaced, the last one first
    this.before = null;  // the signers before HEAD, if that changed them
    this.governance = [];
  }

  after(change) {
    if (change.kind !== 'supersede') return governed(change, this.now);
    return governed(change.change, this.before ?? this.now);
  }

  checkPlace(entry) {
    need(entry.version === this.version + 1n, `it says that it is version ${entry.version}`);
    need(same(entry.prev, this.hash), 'prev is not the hash of the version before');
    need(entry.at >= this.at, 'it is older than the version before');
  }

  checkFits(entry, payload, knowsHead) {
    const { change, ifHead } = payload;
    need((change.kind === 'genesis') === (entry.version === 0n), 'only version 0 is a genesis');
    if (entry.version === 0n) {
      need(entry.expires === 0n && entry.approvals.length === 0, 'the genesis has an expiry');
      return;
    }
    need(entry.at < entry.expires && entry.expires % 1000n === 0n, 'its proposal had expired');
    if (ifHead && knowsHead) {
      need(ifHead.version === entry.version - 1n && same(ifHead.hash, entry.prev),
           'if_head was not HEAD');
    }
    const isSupersede = change.kind === 'supersede';
    if (isSupersede) {
      need(change.version === entry.version - 1n && change.version > 0n, 'it supersedes not HEAD');
    }
    const inner = isSupersede ? change.change : change;
    const basis = isSupersede ? this.before ?? this.now : this.now;
    if (inner.kind === 'update') {
      need(this.descriptors.size + inner.set.length <= 100000, 'there are too many descriptors');
    } else if (inner.kind === 'signers') {
      for (const id of inner.signers.keys()) need(!basis.revoked.has(id), `${id} was revoked`);
    } else {
      for (const id of inner.ids) need(basis.signers.has(id), `there is no signer ${id} to revoke`);
      const left = BigInt(basis.signers.size - inner.ids.length);
      need(left > basis.threshold, 'too few would be left');
    }
  }

  checkApprovals(entry, change) {
    const after = this.after(change);
    const both = change.kind !== 'revoke' && !sameSet(this.now, after);
    const second = entry.at / 1000n;
    const inTime = (signer) => signer.notAfter === null || second <= signer.notAfter;
    const text = Buffer.from(
      `ron-registry/approval/v1\nlog ${b3text(this.log)}\nproposal ${entry.proposal}\n` +
      `payload ${b3text(blake3(entry.payload))}\nexpires ${printTime(entry.expires)}\n`);
    for (const { signer, signature } of entry.approvals) {
      need(!this.now.revoked.has(signer), `signer ${signer} was revoked`);
      const found = this.now.signers.get(signer) ?? (both ? after.signers.get(signer) : undefined);
      need(found, `${signer} is not one of the signers`);
      need(inTime(found), `the key of signer ${signer} has expired`);
      need(ed25519Verifies(found.key, text, signature),
           `the signature of ${signer} does not verify`);
    }
    const counted = (set) => BigInt(entry.approvals.filter(({ signer }) => {
      const found = set.signers.get(signer);
      return found && inTime(found) && !this.now.revoked.has(signer);
    }).length);
    need(counted(this.now) >= this.now.threshold, 'too few of the signers approved');
    need(!both || counted(after) >= after.threshold, 'too few of the new signers approved');
  }

  put(key, value, replaced) {
    replaced.push([key, this.descriptors.get(key) ?? null]);
    if (value === null) this.descriptors.delete(key);
    else this.descriptors.set(key, value);
  }

  apply(entry, change) {
    const after = this.after(change);
    const changed = !sameGovernance(this.now, after);
    if (changed) this.governance.push(entry.bytes);
    const before = changed ? this.now : null;
    this.now = after;
    const replaced = [];
    if (change.kind === 'supersede') {
      for (const [key, was] of this.replaced) this.put(key, was, replaced);
    }
    const inner = change.kind === 'supersede' ? change.change : change;
    if (inner.kind === 'update') {
      for (const [key, value] of inner.set) this.put(key, value, replaced);
      for (const key of inner.remove) this.put(key, null, replaced);
    }
    this.replaced = replaced.reverse();
    this.before = before;
    if (entry.version === 0n) this.log = entry.hash;
    this.version = entry.version;
    this.hash = entry.hash;
    this.at = entry.at;
  }

  // The next version, by all the rules.
  take(bytes) {
    const entry = decodeEntry(bytes);
    this.checkPlace(entry);
    const payload = decodePayload(entry.payload);
    this.checkFits(entry, payload, true);
    if (entry.version > 0n) this.checkApprovals(entry, payload.change);
    this.apply(entry, payload.change);
    return entry;
  }

  // An entry about signers, of which the ones in between are not known.
  takeGovernance(bytes) {
    const entry = decodeEntry(bytes);
    const isFirst = this.version === -1n;
    need(isFirst ? entry.version === 0n : entry.version > this.version,
         'the entries about signers are not in order');
    const follows = entry.version === this.version + 1n;
    if (follows) this.checkPlace(entry);
    need(entry.at >= this.at, 'an entry about signers is older than the one before');
    if (!follows) {
      this.before = null;
      this.replaced = [];
    }
    const payload = decodePayload(entry.payload);
    this.checkFits(entry, payload, follows);
    if (entry.version > 0n) this.checkApprovals(entry, payload.change);
    const known = this.governance.length;
    this.apply(entry, payload.change);
    need(this.governance.length === known + 1, 'an entry about signers changes none');
    return entry;
  }

  // The signers are as they were when nothing more is known of what HEAD changed.
  skipTo(version, hash, at) {
    if (this.version !== version) {
      this.before = null;
      this.replaced = [];
    }
    this.version = version;
    this.hash = hash;
    this.at = at;
  }
}
