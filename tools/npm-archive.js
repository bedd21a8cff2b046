// Packages from npm as the archives they are, for tools that want a few of their files: nothing is
// installed and no script of theirs runs.
//
// A package.json says exact versions in `dependencies` and the sha512 of each archive in
// `integrity`. Archives are kept in a folder: once they are there, nothing is downloaded. What does
// not have the sha512 that is written there is not used.
'use strict';
const { createHash } = require('node:crypto');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const DOWNLOAD_MS = 120_000;
const FILE_BYTES = 64 << 20;

function integrityOf(file) {
  return 'sha512-' + createHash('sha512').update(fs.readFileSync(file)).digest('base64');
}

function download(cache, name, version) {
  const options = ['--pack-destination', '.', '--silent', '--ignore-scripts', '--prefer-offline',
                   '--fetch-retries', '1', '--fetch-retry-mintimeout', '1000'];
  try {
    execFileSync('npm', ['pack', `${name}@${version}`, ...options],
                 { cwd: cache, stdio: ['ignore', 'ignore', 'pipe'], timeout: DOWNLOAD_MS });
  } catch (error) {
    const reason = String(error.stderr ?? '').trim() || error.message;
    throw new Error(`npm did not deliver ${name}@${version}: ${reason}`, { cause: error });
  }
}

// [{name, version, archive}] of every package in `folder`/package.json.
function packagesOf(folder, cache) {
  const { dependencies, integrity } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json')));
  fs.mkdirSync(cache, { recursive: true });
  return Object.entries(dependencies).map(([name, version]) => {
    const archive = path.join(cache, `${name}-${version}.tgz`);
    const wanted = integrity[name];
    if (!fs.existsSync(archive) || integrityOf(archive) !== wanted) download(cache, name, version);
    const found = integrityOf(archive);
    if (found === wanted) return { name, version, archive };
    fs.rmSync(archive);
    throw new Error(`${name}@${version} is not what package.json says: ${found}, not ${wanted}`);
  });
}

function listOf(archive) {
  const listed = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' });
  return listed.split('\n').map((each) => each.replace(/^package\//, ''));
}

function fileIn(archive, file) {
  return execFileSync('tar', ['-xzOf', archive, `package/${file}`], { maxBuffer: FILE_BYTES });
}

module.exports = { fileIn, listOf, packagesOf };
