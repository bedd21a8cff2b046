// The npm `macaroon` client's half of the interoperability test.
//
//   node check.mjs show KEY TOKEN: verify; print location, identifier and caveats
//   node check.mjs attenuate KEY TOKEN CAVEAT...: verify, add the caveats, print the token
//   node check.mjs mint KEY IDENTIFIER LOCATION CAVEAT...: print a new token
//   node check.mjs third-party KEY IDENTIFIER LOCATION: print one with a third-party caveat
//
// KEY and TOKEN are base64url. Exit status 1, with the reason on stderr, when the client refuses.
// The client doubles its output buffer on every write, so it exports tokens of up to three caveats
// and fails beyond that; it imports and verifies any number.
import macaroon from 'macaroon';

const accept_every_condition = () => null;

function verified(key, token) {
  const imported = macaroon.importMacaroon(token);
  imported.verify(macaroon.base64ToBytes(key), accept_every_condition);
  return imported;
}

function minted(key, identifier, location) {
  return macaroon.newMacaroon({identifier, location, rootKey: macaroon.base64ToBytes(key)});
}

function print_token(token) {
  console.log(macaroon.bytesToBase64(token.exportBinary()));
}

const commands = {
  show(key, text) {
    const token = verified(key, text);
    const decode = bytes => new TextDecoder().decode(bytes);
    console.log(token.location);
    console.log(decode(token.identifier));
    for (const caveat of token.caveats) console.log(decode(caveat.identifier));
  },
  attenuate(key, text, ...caveats) {
    const token = verified(key, text);
    for (const caveat of caveats) token.addFirstPartyCaveat(caveat);
    print_token(token);
  },
  mint(key, identifier, location, ...caveats) {
    const token = minted(key, identifier, location);
    for (const caveat of caveats) token.addFirstPartyCaveat(caveat);
    print_token(token);
  },
  'third-party'(key, identifier, location) {
    const token = minted(key, identifier, location);
    token.addThirdPartyCaveat('shared key', 'prove it', 'elsewhere');
    print_token(token);
  },
};

try {
  const [command, ...parameters] = process.argv.slice(2);
  if (!Object.hasOwn(commands, command)) throw new Error(`unknown command ${command}`);
  commands[command](...parameters);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
