import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { atEndOfFile } from './own.ts';

/** Mail servers of our own: one that works, and one that says whatever a test wants. */

const read = (name: string): string =>
  readFileSync(new URL(`test-only-mail-${name}.pem`, import.meta.url), 'utf8');

/** The authority of {@link CERTIFICATE}. */
export const AUTHORITY = read('ca');
export const CERTIFICATE = { cert: read('leaf'), key: read('leaf-key') };
export const LOGIN = { user: 'keys@shop.example', password: 'p ä:@/' };

export interface Received {
  from: string;
  to: string[];
  user: string | undefined;
  isSecure: boolean;
  message: string;
}

/** Starts a server that takes all mails of {@link LOGIN}. @returns its port, and the mails it gets */
export async function startSmtp(
  options: SMTPServerOptions,
): Promise<{ port: number; received: Received[] }> {
  const received: Received[] = [];
  const server = new SMTPServer({
    logger: false,
    authOptional: true,
    onAuth({ username, password }, _session, done) {
      const isRight = username === LOGIN.user && password === LOGIN.password;
      if (isRight) done(null, { user: username });
      else done(Object.assign(new Error('Wrong password'), { responseCode: 535 }));
    },
    onData(stream, session, done) {
      let message = '';
      stream.setEncoding('utf8').on('data', (part: string) => {
        message += part;
      });
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          user: session.user,
          isSecure: session.secure,
          message,
        });
        done();
      });
    },
    ...options,
  });
  // Without a listener, a client that rejects the certificate ends the process.
  server.on('error', () => undefined);
  atEndOfFile(() => server.close());
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return { port: portOf(listening.address()), received };
}

/** The steps of a conversation; `message` is the reply to the final dot. */
export type SmtpStep =
  | 'greeting'
  | 'EHLO'
  | 'STARTTLS'
  | 'AUTH'
  | 'MAIL'
  | 'RCPT'
  | 'DATA'
  | 'body'
  | 'message';

/** A reply, `hang` for none, or `close` for the end of the connection. */
export type Said = string | 'hang' | 'close';

const USUAL: Readonly<Record<SmtpStep, Said>> = {
  greeting: '220 mail.example ESMTP',
  EHLO: '250-mail.example\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN',
  STARTTLS: '502 5.5.1 no',
  AUTH: '235 2.7.0 ok',
  MAIL: '250 2.1.0 ok',
  RCPT: '250 2.1.5 ok',
  DATA: '354 go on',
  // The first bytes of the message.
  body: '',
  message: '250 2.0.0 queued',
};

/** Starts a server without TLS that says other things at some steps. @returns its port, and the lines it gets */
export async function startScripted({
  delayMs = 0,
  ...said
}: Partial<Record<SmtpStep, Said>> & { delayMs?: number }): Promise<{
  port: number;
  lines: string[];
}> {
  const replies = { ...USUAL, ...said };
  const lines: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const say = (step: SmtpStep): void => {
      const reply = replies[step];
      if (reply === 'close') socket.destroy();
      else if (reply !== 'hang' && reply !== '') {
        setTimeout(() => socket.write(`${reply}\r\n`), delayMs);
      }
    };
    let text = '';
    let isMessage = false;
    say('greeting');
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (isMessage) say('body');
      for (;;) {
        const mark = isMessage ? '\r\n.\r\n' : '\r\n';
        const end = text.indexOf(mark);
        if (end < 0) return;
        const line = text.slice(0, end);
        text = text.slice(end + mark.length);
        lines.push(line);
        if (isMessage) {
          isMessage = false;
          say('message');
          continue;
        }
        const step = line.split(' ')[0];
        if (step === 'EHLO' || step === 'STARTTLS' || step === 'AUTH') say(step);
        else if (step === 'MAIL' || step === 'RCPT') say(step);
        else if (step === 'DATA') {
          isMessage = replies.DATA.startsWith('3');
          say('DATA');
        }
      }
    });
  });
  atEndOfFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: portOf(server.address()), lines };
}

/**
 * Starts a server with STARTTLS, and somebody between who adds to the reply before TLS that to the `EHLO` after it.
 *
 * @returns its port, and the lines that it gets by TLS
 */
export async function startInjected(added: string): Promise<{ port: number; lines: string[] }> {
  const lines: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write('220 mail.example\r\n');
    socket.once('data', () => {
      socket.write('250-mail.example\r\n250 STARTTLS\r\n');
      socket.once('data', () => {
        socket.write(`220 go on\r\n${added}\r\n`);
        const secure = new TLSSocket(socket, { isServer: true, ...CERTIFICATE });
        secure.on('error', () => undefined);
        secure.setEncoding('utf8').on('data', (part: string) => {
          lines.push(part.trim());
          const isHello = part.startsWith('EHLO');
          secure.write(isHello ? '250-mail.example\r\n250 AUTH PLAIN\r\n' : '535 5.7.8 no\r\n');
        });
      });
    });
  });
  atEndOfFile(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: portOf(server.address()), lines };
}

const portOf = (address: ReturnType<ReturnType<typeof createServer>['address']>): number =>
  typeof address === 'object' && address ? address.port : 0;
