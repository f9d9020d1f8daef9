import { type IncomingMessage, request } from 'node:http';

/**
 * Logs in as the console's page does: with the code in the fragment of its URL, or with a token. Not by `fetch`, which
 * cannot name another host than the one it connects to: Node.js does not resolve the names under `.localhost`.
 *
 * @returns the response, without its body
 */
export function logInAt({ host, port, hash }: URL, token?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request({
      host: 'localhost',
      port,
      path: '/console/session',
      method: 'POST',
      headers: { Host: host, ...(token !== undefined && { TOKEN: token }) },
    });
    sent.on('error', reject);
    sent.on('response', (response) => resolve(response.resume()));
    sent.end(JSON.stringify({ code: hash.replace('#code=', '') }));
  });
}
