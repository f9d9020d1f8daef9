import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import PostalMime from 'postal-mime';
import type { SMTPServerOptions } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mailNetwork } from '../../scripts/local/outbound-network.ts';
import type { SmtpServer } from '../../src/channels/mail/settings.ts';
import {
  AUTHORITY,
  CERTIFICATE,
  LOGIN,
  type Said,
  type SmtpStep,
  startInjected,
  startScripted,
  startSmtp,
} from './fake-smtp.ts';
import { freePort } from './service.ts';

/** The SMTP client in workerd, against real servers and servers that misbehave. */

const MAIL = {
  id: 'licet-7-0a1b2c3d',
  to: 'ada@example.com',
  subject: 'Dein Schlüssel',
  text: 'Hallo Ada,\n.\nhier ist dein Schlüssel.',
  html: '<p>Hallo</p>',
  language: 'de',
};
const LETTERHEAD = { from: { name: 'Shop', address: 'keys@shop.example' }, replyTo: null };

const WORKER = `
import { sendBySmtp } from './src/channels/mail/adapters/smtp.ts';
export default {
  async fetch(request, env) {
    const { server, letterhead, mail, timeouts, isOwnNetwork } = await request.json();
    const network = isOwnNetwork ? env.MAIL_NETWORK : undefined;
    return Response.json(await sendBySmtp(server, letterhead, mail, network, timeouts));
  },
};`;

let miniflare: Miniflare;
beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: { contents: WORKER, resolveDir: '.' },
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    external: ['cloudflare:*'],
  });
  const { MAIL_NETWORK } = mailNetwork({ MAIL: 'smtps:' });
  if (!MAIL_NETWORK) throw new Error('There is no network');
  const { network } = MAIL_NETWORK;
  const tlsOptions = { ...network.tlsOptions, trustedCertificates: [AUTHORITY] };
  miniflare = new Miniflare(
    convertV4MiniflareOptions({
      // A certificate of nobody is an error of the runtime, too.
      handleStructuredLogs: () => undefined,
      workers: [
        {
          name: 'mail',
          modules: true,
          script: outputFiles.map(({ text }) => text).join(''),
          compatibilityDate: '2026-09-01',
          serviceBindings: { MAIL_NETWORK: { network: { ...network, tlsOptions } } },
        },
      ],
    }),
  );
  await miniflare.ready;
});
afterAll(() => miniflare.dispose());

async function send(
  server: Partial<SmtpServer>,
  mail: Partial<typeof MAIL> = {},
  timeouts = { stepMs: 5_000, allMs: 20_000 },
  isOwnNetwork = true,
): Promise<unknown> {
  const given = { hostname: 'localhost', security: 'none', login: null, ...server };
  const response = await miniflare.dispatchFetch('http://licet/', {
    method: 'POST',
    body: JSON.stringify({
      server: given,
      letterhead: LETTERHEAD,
      mail: { ...MAIL, ...mail },
      timeouts,
      isOwnNetwork,
    }),
  });
  return response.json();
}

const SENT = { state: 'sent', providerId: null };

it.each<[string, SmtpServer['security'], SMTPServerOptions, SmtpServer['login']]>([
  ['implicit TLS', 'tls', { secure: true }, LOGIN],
  ['STARTTLS', 'starttls', {}, LOGIN],
  ['STARTTLS and the method LOGIN', 'starttls', { authMethods: ['LOGIN'] }, LOGIN],
  ['a login without TLS on this machine', 'none', { allowInsecureAuth: true }, LOGIN],
  ['no login on this machine', 'none', { disabledCommands: ['AUTH'] }, null],
])('a mail arrives by %s', async (_, security, options, login) => {
  const server = await startSmtp({ ...CERTIFICATE, ...options });
  expect(await send({ port: server.port, security, login })).toEqual(SENT);
  expect(server.received).toEqual([
    {
      from: 'keys@shop.example',
      to: ['ada@example.com'],
      user: login?.user,
      isSecure: security !== 'none',
      message: expect.any(String),
    },
  ]);
  const read = await PostalMime.parse(server.received[0]?.message ?? '');
  expect(read).toMatchObject({
    subject: MAIL.subject,
    messageId: '<licet-7-0a1b2c3d@shop.example>',
    from: { name: 'Shop' },
  });
  expect(read.text?.replaceAll('\r\n', '\n').trim()).toBe(MAIL.text);
});

it('a mail arrives without a network of its own, as at Cloudflare', async () => {
  const { port, received } = await startSmtp({ disabledCommands: ['AUTH'] });
  expect(await send({ port }, {}, { stepMs: 5_000, allMs: 20_000 }, false)).toEqual(SENT);
  expect(received).toHaveLength(1);
});

it.each(['tls', 'starttls'] as const)(
  'a wrong password by %s is tried again, and named without the password',
  async (security) => {
    const { port, received } = await startSmtp({ ...CERTIFICATE, secure: security === 'tls' });
    const login = { user: LOGIN.user, password: 'se-cret' };
    const outcome = await send({ port, security, login });
    expect(outcome).toMatchObject({
      state: 'retry',
      error: expect.stringMatching(
        /to AUTH with "535".* Check the user and the password in MAIL\.$/,
      ),
    });
    expect(JSON.stringify(outcome)).not.toMatch(/se-cret|c2UtY3JldA/);
    expect(received).toEqual([]);
  },
);

it.each(['tls', 'starttls'] as const)(
  'a certificate of nobody by %s gets neither a password nor a mail [13.1.4]',
  async (security) => {
    const tried: unknown[] = [];
    const { port, received } = await startSmtp({
      secure: security === 'tls',
      onAuth(auth, _session, done) {
        tried.push(auth);
        done(null, { user: 'eve' });
      },
    });
    expect(await send({ port, security, login: LOGIN })).toMatchObject({
      state: 'retry',
      error: expect.stringContaining('has no valid certificate for localhost'),
    });
    expect([...tried, ...received]).toEqual([]);
  },
);

it('a certificate for another name gets neither a password nor a mail [13.1.4]', async () => {
  const { port, received } = await startSmtp({ ...CERTIFICATE, secure: true });
  const server = { hostname: '127.0.0.1', port, security: 'tls', login: LOGIN } as const;
  expect(await send(server)).toMatchObject({ state: 'retry' });
  expect(received).toEqual([]);
});

it('a server whose STARTTLS is stripped gets neither a password nor a mail [13.1.4]', async () => {
  for (const EHLO of ['250 mail.example', '250-mail.example\r\n250-AUTH PLAIN\r\n250 XSTARTTLS']) {
    const { port, lines } = await startScripted({ EHLO });
    expect(await send({ port, security: 'starttls', login: LOGIN })).toMatchObject({
      state: 'retry',
      error: expect.stringContaining('offers no STARTTLS, so nothing was sent. Use smtps://'),
    });
    expect(lines.filter((line) => !/^(EHLO|QUIT)/.test(line))).toEqual([]);
  }
  const { port, lines } = await startScripted({ EHLO: '250-mail.example\r\n250 STARTTLS' });
  expect(await send({ port, security: 'starttls', login: LOGIN })).toMatchObject({
    state: 'retry',
    error: expect.stringContaining('to STARTTLS with "502 5.5.1 no"'),
  });
  expect(lines.join()).not.toMatch(/AUTH|MAIL/);
});

it('a reply from before TLS does not count after it [13.1.4]', async () => {
  const { port, lines } = await startInjected('250-mail.example\r\n250 AUTH LOGIN');
  expect(await send({ port, security: 'starttls', login: LOGIN })).toMatchObject({
    state: 'retry',
    error: expect.stringContaining('to AUTH with "535"'),
  });
  expect(lines).toEqual([
    'EHLO shop.example',
    expect.stringMatching(/^AUTH PLAIN /),
    ...lines.slice(2).filter((line) => line === 'QUIT'),
  ]);
});

const SHORT = { stepMs: 300, allMs: 5_000 };
const retry = (error: string) => ({ state: 'retry', error: expect.stringContaining(error) });
const lost = (error: string) => ({ state: 'lost', error: expect.stringContaining(error) });
const refused = (isAddress: boolean) => ({
  state: 'refused',
  error: expect.any(String),
  isAddress,
});

it.each<[step: SmtpStep, said: Said, outcome: object]>([
  ['greeting', '421 4.3.2 busy', retry('to greeting with "421 4.3.2 busy"')],
  ['greeting', '554 5.3.2 no service', retry('Check the host and the port in MAIL')],
  ['greeting', 'SSH-2.0-OpenSSH_9.2', retry('speaks no SMTP')],
  ['greeting', '220-hello\r\n'.repeat(200), retry('speaks no SMTP')],
  ['greeting', 'close', retry('closed the connection')],
  ['greeting', 'hang', retry('did not respond in time')],
  ['EHLO', '500 what', retry('to EHLO with "500 what"')],
  ['EHLO', 'close', retry('closed the connection')],
  ['AUTH', '454 4.7.0 later', retry('to AUTH with "454"')],
  ['AUTH', '535 5.7.8 no', retry('Check the user and the password in MAIL')],
  ['AUTH', 'hang', retry('did not respond in time')],
  ['MAIL', '451 4.3.0 later', retry('to MAIL with "451 4.3.0 later"')],
  ['MAIL', '553 5.7.1 not yours', retry('from the address of MAIL_FROM')],
  ['RCPT', '450 4.2.0 greylisted', retry('to RCPT with "450 4.2.0 greylisted"')],
  ['RCPT', '550 5.1.1 no such user', refused(true)],
  ['RCPT', '550-5.1.1 no such user\r\n550 5.1.1 really', refused(true)],
  ['RCPT', '550 no such user', refused(true)],
  ['RCPT', '550 5.2.1 disabled', refused(true)],
  ['RCPT', '552 5.2.2 mailbox full', refused(false)],
  ['RCPT', '550 relay not permitted', retry('to anybody')],
  ['RCPT', '550-Rejected: 192.0.2.1 is listed at an RBL\r\n550 see its page', retry('to anybody')],
  ['RCPT', '554 5.7.1 relaying denied', retry('to anybody')],
  ['RCPT', '530 5.7.0 log in first', retry('to anybody')],
  ['RCPT', 'close', retry('closed the connection')],
  ['DATA', '451 4.3.0 later', retry('to DATA with "451')],
  ['DATA', '554 5.5.1 no', retry('Check that the server lets this user send')],
  ['DATA', 'close', retry('closed the connection')],
  ['message', '452 4.3.1 full', retry('to message with "452 4.3.1 full"')],
  ['message', '554 5.7.1 spam', refused(false)],
  ['message', '550 5.1.1 no such user', refused(true)],
  ['message', 'close', lost('closed the connection after it got the mail')],
])('the step %s with %j ends as it should', async (step, said, outcome) => {
  const { port } = await startScripted({ [step]: said });
  expect(await send({ port, login: LOGIN }, {}, said === 'hang' ? SHORT : undefined)).toEqual(
    outcome,
  );
});

it('a long reply is cut between words, so that no part of an address is left', async () => {
  const { port } = await startScripted({ RCPT: `450 ${'wait '.repeat(37)}for ${MAIL.to} please` });
  expect(await send({ port })).toEqual({
    state: 'retry',
    error: expect.not.stringMatching(/ada@ex(?!ample\.com)/),
  });
});

it('a connection that closes within the message is tried again', { tags: 'long' }, async () => {
  const { port, lines } = await startScripted({ body: 'close' });
  // More than the buffers of both systems hold.
  const html = 'x'.repeat(16 * 1024 * 1024);
  expect(await send({ port }, { html }, { stepMs: 60_000, allMs: 60_000 })).toEqual(
    retry('closed the connection'),
  );
  expect(lines.at(-1)).toBe('DATA');
});

it('a server that does not reply to the message has perhaps taken it', {
  tags: 'long',
}, async () => {
  const { port } = await startScripted({ message: 'hang' });
  expect(await send({ port }, {}, { stepMs: 100, allMs: 500 })).toEqual(
    lost('did not respond in time'),
  );
});

it('a server that is slow at each step is given up in time', { tags: 'long' }, async () => {
  const { port, lines } = await startScripted({ delayMs: 200 });
  expect(await send({ port }, {}, { stepMs: 5_000, allMs: 500 })).toEqual(
    retry('did not respond in time'),
  );
  expect(lines).not.toContain('DATA');
});

it('a port on which nobody listens is tried again', async () => {
  const port = await freePort();
  expect(await send({ port })).toEqual(retry('refused the connection'));
});

it('a network for mails is there for a server of SMTP alone', () => {
  expect(mailNetwork({ MAIL: 'resend:re_1' })).toEqual({});
  expect(mailNetwork({})).toEqual({});
});
