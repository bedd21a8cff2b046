// The Merkle tree of RFC 6962 with SHA-256.
import { need, same, sha256 } from './values.mjs';

const ZERO = Buffer.from([0]);
const ONE = Buffer.from([1]);

export const leafHash = (entry) => sha256(ZERO, entry);
export const nodeHash = (left, right) => sha256(ONE, left, right);

// The root of a list of leaf hashes, by the definition.
export function rootOf(leaves) {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0];
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return nodeHash(rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

// Grows leaf by leaf and knows its root at every size.
export class Frontier {
  constructor() {
    this.size = 0;
    this.edge = [];
  }

  append(leaf) {
    let hash = leaf;
    for (let rest = this.size; rest & 1; rest >>= 1) hash = nodeHash(this.edge.pop(), hash);
    this.edge.push(hash);
    this.size += 1;
  }

  root() {
    return this.edge.reduceRight((right, left) => (right ? nodeHash(left, right) : left), null);
  }
}

// The inclusion proof of a leaf, by the definition of RFC 6962 §2.1.1.
export function inclusionProof(index, leaves) {
  if (leaves.length === 1) return [];
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  if (index < split) return [...inclusionProof(index, left), rootOf(right)];
  return [...inclusionProof(index - split, right), rootOf(left)];
}

// RFC 9162 §2.1.3.2.
export function checkInclusion(index, size, leaf, proof, root) {
  need(index < size, 'the leaf is not in the tree');
  let fn = index;
  let sn = size - 1n;
  let hash = leaf;
  for (const step of proof) {
    need(sn !== 0n, 'the inclusion proof is too long');
    if (fn & 1n || fn === sn) {
      hash = nodeHash(step, hash);
      while (!(fn & 1n) && fn !== 0n) {
        fn >>= 1n;
        sn >>= 1n;
      }
    } else {
      hash = nodeHash(hash, step);
    }
    fn >>= 1n;
    sn >>= 1n;
  }
  need(sn === 0n && same(hash, root), 'the entry is not in the tree of the checkpoint');
}
