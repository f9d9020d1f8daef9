import { type Letterhead, mimeOf } from '../mime.ts';
import type { OutgoingMail, SendOutcome } from '../sender.ts';
import type { SmtpServer } from '../settings.ts';

/** Submission of mails by SMTP (RFC 5321, 6409), with TLS (RFC 3207, 8314) and a login (RFC 4954). */

/**
 * Timeouts of a connection and of each reply, and of all together: work after a response lasts 25 seconds with `npm start`, and
 * 30 at Cloudflare. The outcome of an attempt has to be stored, too.
 */
const TIMEOUTS = { stepMs: 10_000, allMs: 20_000 };
const MAX_REPLY_BYTES = 16 * 1024;
const MAX_REPLY_LINES = 100;
const MAX_QUOTED = 200;

/** A network, as `cloudflare:sockets` and a service binding offer it. */
export type SmtpNetwork = Pick<Fetcher, 'connect'>;

/** A reply of the server: its code, its extended code such as `5.1.1`, and all its lines. */
interface Reply {
  code: number;
  extended: string;
  lines: readonly string[];
}

/** The conversation ended without the server's word on the mail. */
class Disconnected extends Error {}

/** The server has refused a step. */
class Refused extends Error {
  readonly step: Step;
  readonly reply: Reply;

  constructor(step: Step, reply: Reply) {
    super();
    this.step = step;
    this.reply = reply;
  }
}

type Step = 'greeting' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'message';

/** The operator's remedy, for a step that does not depend on the mail. */
const REMEDIES: Readonly<Record<Exclude<Step, 'message'>, string>> = {
  greeting: 'Check the host and the port in MAIL',
  EHLO: 'Check the host and the port in MAIL',
  STARTTLS: 'Use smtps://, or another server, in MAIL',
  AUTH: 'Check the user and the password in MAIL',
  MAIL: 'Check that the server lets this user send from the address of MAIL_FROM',
  RCPT: 'Check that the server lets this user send from the address of MAIL_FROM to anybody',
  DATA: 'Check that the server lets this user send',
};

/** The timeouts of a conversation that has begun. */
class Deadlines {
  readonly #stepMs: number;
  readonly #end: number;

  constructor({ stepMs, allMs }: typeof TIMEOUTS) {
    this.#stepMs = stepMs;
    this.#end = Date.now() + allMs;
  }

  /** Waits for a step. Many servers examine a message before they reply to it, so that it may take all that is left. */
  async within<T>(promise: Promise<T>, isMessage = false): Promise<T> {
    const leftMs = Math.max(this.#end - Date.now(), 0);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const fail = () => reject(new Disconnected('did not respond in time'));
      timer = setTimeout(fail, isMessage ? leftMs : Math.min(this.#stepMs, leftMs));
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The lines of a connection. Reading and writing end with {@link Disconnected} after a timeout. */
class Connection {
  readonly #socket: Socket;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #deadlines: Deadlines;
  #received = '';

  constructor(socket: Socket, deadlines: Deadlines) {
    this.#socket = socket;
    this.#deadlines = deadlines;
    this.#reader = socket.readable.getReader();
    this.#writer = socket.writable.getWriter();
  }

  async write(text: string, isMessage = false): Promise<void> {
    await this.#deadlines.within(this.#writer.write(new TextEncoder().encode(text)), isMessage);
  }

  /** The next reply, which can have several lines. */
  async read(isMessage = false): Promise<Reply> {
    const lines: string[] = [];
    for (;;) {
      const end = this.#received.indexOf('\n');
      if (end < 0) {
        await this.#receive(isMessage);
        continue;
      }
      const line = this.#received.slice(0, end).replace(/\r$/, '');
      this.#received = this.#received.slice(end + 1);
      const [, code, sign, text = ''] = /^(\d{3})([ -]?)(.*)$/.exec(line) ?? [];
      if (code === undefined || lines.length >= MAX_REPLY_LINES) {
        throw new Disconnected('speaks no SMTP');
      }
      lines.push(text);
      if (sign !== '-') {
        const [extended = ''] = /^[245]\.\d{1,3}\.\d{1,3}\b/.exec(text) ?? [];
        return { code: Number(code), extended, lines };
      }
    }
  }

  async #receive(isMessage: boolean): Promise<void> {
    const { done, value } = await this.#deadlines.within(this.#reader.read(), isMessage);
    if (done) throw new Disconnected('closed the connection');
    this.#received += this.#decoder.decode(value, { stream: true });
    if (this.#received.length > MAX_REPLY_BYTES) throw new Disconnected('speaks no SMTP');
  }

  /** Goes on with TLS. Bytes that came before it are forgotten, because anybody could have sent them. */
  startTls(): Connection {
    this.#reader.releaseLock();
    this.#writer.releaseLock();
    return new Connection(this.#socket.startTls(), this.#deadlines);
  }

  close(): void {
    // A connection that is broken cannot be closed again.
    this.#socket.close().catch(() => undefined);
  }
}

/** A conversation with a server, from the greeting to the end. */
class Conversation {
  #connection: Connection;
  #isMessageSent = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Whether the whole message was handed over, so that it can have been taken. */
  get isMessageSent(): boolean {
    return this.#isMessageSent;
  }

  /** Reads the reply to a step. @throws Refused unless it has the class of code */
  async expect(step: Step, codeClass: number): Promise<Reply> {
    const reply = await this.#connection.read(step === 'message');
    if (Math.floor(reply.code / 100) !== codeClass) throw new Refused(step, reply);
    return reply;
  }

  async say(step: Step, line: string, codeClass = 2): Promise<Reply> {
    await this.#connection.write(`${line}\r\n`);
    return this.expect(step, codeClass);
  }

  /** The extensions of the server, in capital letters. */
  async hello(domain: string): Promise<string[]> {
    const { lines } = await this.say('EHLO', `EHLO ${domain}`);
    return lines.slice(1).map((line) => line.toUpperCase());
  }

  async startTls(): Promise<void> {
    await this.say('STARTTLS', 'STARTTLS');
    this.#connection = this.#connection.startTls();
  }

  async logIn(login: NonNullable<SmtpServer['login']>, extensions: readonly string[]) {
    const methods = extensions.find((line) => /^AUTH[ =]/.test(line))?.split(/[ =]/) ?? [];
    const encode = (text: string): string => new TextEncoder().encode(text).toBase64();
    if (methods.includes('PLAIN') || !methods.includes('LOGIN')) {
      await this.say('AUTH', `AUTH PLAIN ${encode(`\0${login.user}\0${login.password}`)}`);
      return;
    }
    await this.say('AUTH', 'AUTH LOGIN', 3);
    await this.say('AUTH', encode(login.user), 3);
    await this.say('AUTH', encode(login.password));
  }

  async sendMessage(message: string): Promise<void> {
    await this.say('DATA', 'DATA', 3);
    // A line that is only a dot would end the message.
    const text = message.replace(/^\./gm, '..');
    await this.#connection.write(text, true);
    this.#isMessageSent = true;
    await this.#connection.write('.\r\n');
    await this.expect('message', 2);
  }

  /** Ends the conversation without waiting for the server's good-bye. */
  async end(): Promise<void> {
    await this.#connection.write('QUIT\r\n').catch(() => undefined);
    this.#connection.close();
  }
}

const TRANSPORTS = { tls: 'on', starttls: 'starttls', none: 'off' } as const;

/** Opens a connection. @throws if there is none in time, or with TLS no valid certificate */
async function open(
  { hostname, port, security }: SmtpServer,
  network: SmtpNetwork | undefined,
  deadlines: Deadlines,
): Promise<Socket> {
  // Loaded here, because tools that read this file outside of workerd do not know the module.
  const { connect } = network ?? (await import('cloudflare:sockets'));
  const options = { secureTransport: TRANSPORTS[security], allowHalfOpen: false };
  const socket = connect.call(network, { hostname, port }, options);
  // The failure is that of the promise for which somebody waits.
  socket.closed.catch(() => undefined);
  try {
    await deadlines.within(socket.opened);
    return socket;
  } catch (error) {
    socket.close().catch(() => undefined);
    throw error;
  }
}

/**
 * Hands a mail to a server.
 *
 * @param network where the server is; undefined for the internet, at Cloudflare
 */
export async function sendBySmtp(
  server: SmtpServer,
  letterhead: Letterhead,
  mail: OutgoingMail,
  network: SmtpNetwork | undefined,
  timeouts = TIMEOUTS,
): Promise<SendOutcome> {
  const { hostname, port, security, login } = server;
  const { address } = letterhead.from;
  const place = `${hostname}, port ${port},`;
  const certificate = security === 'none' ? '' : `, or has no valid certificate for ${hostname}`;
  let failure = `could not be reached: it refused the connection${certificate}`;
  let conversation: Conversation | undefined;
  try {
    const deadlines = new Deadlines(timeouts);
    const socket = await open(server, network, deadlines);
    conversation = new Conversation(new Connection(socket, deadlines));
    await conversation.expect('greeting', 2);
    failure = 'closed the connection';
    const [, domain = 'localhost'] = address.split('@');
    let extensions = await conversation.hello(domain);
    if (security === 'starttls') {
      // Somebody between could have removed it, and would read the password.
      if (!extensions.includes('STARTTLS')) {
        const error = `${place} offers no STARTTLS, so nothing was sent. ${REMEDIES.STARTTLS}.`;
        return { state: 'retry', error };
      }
      await conversation.startTls();
      failure = `has no valid certificate for ${hostname}`;
      extensions = await conversation.hello(domain);
      failure = 'closed the connection';
    }
    if (login) await conversation.logIn(login, extensions);
    await conversation.say('MAIL', `MAIL FROM:<${address}>`);
    await conversation.say('RCPT', `RCPT TO:<${mail.to}>`);
    await conversation.sendMessage(mimeOf(mail, letterhead, Date.now()));
    return { state: 'sent', providerId: null };
  } catch (error) {
    if (error instanceof Refused) return outcomeOf(error, place);
    const reason = error instanceof Disconnected ? error.message : failure;
    return conversation?.isMessageSent
      ? { state: 'lost', error: `${place} ${reason} after it got the mail.` }
      : { state: 'retry', error: `${place} ${reason}.` };
  } finally {
    await conversation?.end();
  }
}

/** Extended codes about the mailbox: a full one takes later mails. */
const ABOUT_MAILBOX = /^5\.2\./;
/** Extended codes of an address that does not exist, or takes no mail (RFC 3463). */
const BAD_ADDRESS = /^5\.(?:1\.(?:[0-6]|10)|2\.[01])$/;
const BAD_ADDRESS_CODES: readonly number[] = [550, 551, 553];
/** Words of servers without extended codes that reject the client: all its addresses would be blocked. */
const ABOUT_THE_CLIENT = /relay|authent|sender|spam|polic|listed|permitted|denied/i;

/** The beginning of a text, cut between words: a part of an address would not be recognized as one. */
const beginningOf = (text: string): string =>
  text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED).replace(/\S*$/, '')}…`;

function outcomeOf({ step, reply }: Refused, place: string): SendOutcome {
  const { code, extended, lines } = reply;
  // A server that repeats its input would show the password.
  const said = lines.join(' ');
  const text = step === 'AUTH' ? '' : ` ${beginningOf(said)}`;
  const error = `${place} responded to ${step} with "${code}${text}".`;
  if (code < 500) return { state: 'retry', error };
  if (step === 'RCPT' || step === 'message') {
    const isAddress =
      extended === ''
        ? step === 'RCPT' && BAD_ADDRESS_CODES.includes(code) && !ABOUT_THE_CLIENT.test(said)
        : BAD_ADDRESS.test(extended);
    if (isAddress) return { state: 'refused', error: `${error} Check the address.`, isAddress };
  }
  if (step === 'message' || ABOUT_MAILBOX.test(extended)) {
    return { state: 'refused', error, isAddress: false };
  }
  return { state: 'retry', error: `${error} ${REMEDIES[step]}.` };
}
