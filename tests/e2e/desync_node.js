// What Node's http server makes of the bytes it gets: a line of JSON for each request, on standard
// output. Two servers, as they come and with the parser that forgives; the first line says where.
'use strict';
const http = require('http');

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const MARK = /(?<![0-9a-z])[onbt][0-9]{4}(?![0-9a-z])/;

function serve(name, options) {
  const server = http.createServer({...options, keepAlive: true}, (request, response) => {
    const body = [];
    const seen = () => ({
      server: name, method: request.method, target: request.url, fields: request.rawHeaders,
      trailers: request.rawTrailers, body: Buffer.concat(body).toString('hex'),
      complete: request.complete,
    });
    let told = false;
    const tell = () => {
      if (!told) say(seen());
      told = true;
    };
    request.on('data', (piece) => body.push(piece));
    request.on('error', tell);
    request.on('close', tell);
    request.on('end', () => {
      tell();
      const named = request.headers['x-marker'] || '';
      const [mark] = MARK.exec(request.url) || MARK.exec(named) || ['none'];
      const answer = Buffer.from('saw ' + mark);
      response.writeHead(200, {
        'Content-Length': answer.length, 'X-Upstream': name, 'X-Saw': mark,
      });
      response.end(request.method === 'HEAD' ? undefined : answer);
    });
  });
  server.keepAliveTimeout = 300000;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  server.on('clientError', (error, socket) => {
    const raw = error.rawPacket ? error.rawPacket.toString('latin1') : '';
    // A proxy that left in the middle is told of by the request that it left.
    const left = ['ECONNRESET', 'HPE_INVALID_EOF_STATE'].includes(error.code);
    if (!left) say({server: name, error: error.code || String(error), raw});
    socket.destroy();
  });
  return new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(server.address().port)));
}

(async () => {
  const size = {maxHeaderSize: 1 << 20};
  say({
    node: await serve('node', size),
    lenient: await serve('lenient', {...size, insecureHTTPParser: true}),
  });
})();
