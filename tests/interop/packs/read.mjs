// Reads packs with the npm packages that map servers and browsers use, and says what each tile is,
// for packs_test.py to compare. Commands:
//
//   read.mjs geojson OUT             countries of the world, 1:110 m
//   read.mjs pmtiles FILE PLACES     a line `Z/X/Y SHA-256 LENGTH` or `Z/X/Y none` for each place
//   read.mjs mbtiles FILE PLACES     the same with @mapbox/mbtiles
//   read.mjs pmtiles-info FILE       header and metadata as JSON
//
// PLACES is a file with a line `Z/X/Y` for each tile. Tiles are compared without their compression:
// that is how pmtiles.js hands them out.
import { createHash } from "node:crypto";
import { open, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { gunzipSync } from "node:zlib";
import { PMTiles } from "pmtiles";
import { feature } from "topojson-client";

const require = createRequire(import.meta.url);

class FileSource {
  constructor(path, handle) {
    this.path = path;
    this.handle = handle;
  }
  getKey() {
    return this.path;
  }
  async getBytes(offset, length) {
    const into = Buffer.alloc(length);
    const { bytesRead } = await this.handle.read(into, 0, length, offset);
    return { data: into.buffer.slice(into.byteOffset, into.byteOffset + bytesRead) };
  }
}

async function pmtiles(path) {
  return new PMTiles(new FileSource(path, await open(path)));
}

function mbtiles(path) {
  const MBTiles = require("@mapbox/mbtiles");
  return new Promise((resolve, reject) => {
    new MBTiles(`${path}?mode=ro`, (error, opened) => (error ? reject(error) : resolve(opened)));
  });
}

function plain(bytes) {
  const buffer = Buffer.from(bytes);
  return buffer[0] === 0x1f && buffer[1] === 0x8b ? gunzipSync(buffer) : buffer;
}

function line(place, bytes) {
  if (bytes === undefined) return `${place} none`;
  return `${place} ${createHash("sha256").update(bytes).digest("hex")} ${bytes.length}`;
}

async function places(path) {
  return (await readFile(path, "utf8")).split("\n").filter((text) => text !== "");
}

async function readPmtiles(path, list) {
  const reader = await pmtiles(path);
  for (const place of await places(list)) {
    const [z, x, y] = place.split("/").map(Number);
    const tile = await reader.getZxy(z, x, y);
    console.log(line(place, tile && Buffer.from(tile.data)));
  }
}

async function readMbtiles(path, list) {
  const reader = await mbtiles(path);
  for (const place of await places(list)) {
    const [z, x, y] = place.split("/").map(Number);
    const tile = await new Promise((resolve, reject) => {
      reader.getTile(z, x, y, (error, data) => {
        if (!error) return resolve(plain(data));
        return /does not exist/.test(error.message) ? resolve(undefined) : reject(error);
      });
    });
    console.log(line(place, tile));
  }
}

async function geojson(out) {
  const topology = JSON.parse(await readFile(require.resolve("world-atlas/countries-110m.json")));
  await writeFile(out, JSON.stringify(feature(topology, topology.objects.countries)));
}

async function info(path) {
  const reader = await pmtiles(path);
  const header = await reader.getHeader();
  console.log(JSON.stringify({ header, metadata: await reader.getMetadata() }));
}

const [command, ...rest] = process.argv.slice(2);
const commands = { geojson, pmtiles: readPmtiles, mbtiles: readMbtiles, "pmtiles-info": info };
await commands[command](...rest);
